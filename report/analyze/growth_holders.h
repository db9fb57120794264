#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "report/analyze/difference.h"
#include "report/analyze/merged_paths.h"
#include "report/analyze/root_paths.h"
#include "report/model/model.h"

// Finds what leaks: the types whose new objects retain most of the new bytes, and the paths that
// hold these objects.
//
// An object is new if it was not in the first snapshot and, with three snapshots, was in the
// second. If the snapshots are of two processes, objects cannot be matched, and all objects of a
// type count as new if the type has more objects now. A type without more objects than before does
// not count: a container that moved its buffer is not a leak, but its additional contents are.
namespace heapattach::analyze {

// New objects of one type that other new objects retain.
struct RetainedNew {
  std::string type;
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
};

struct GrowthHolder {
  std::string type;                  // a row of the difference
  std::uint64_t objects = 0;         // the number of new objects
  std::uint64_t retained_bytes = 0;  // new bytes that these objects retain, their own included
  std::vector<RetainedNew> others;   // the types of those bytes, the largest first
  std::uint64_t through = 0;  // how many of the objects the path below, or one like it, holds
  std::string summary;        // "global CACHE → @h → [*].value"
  std::uint32_t root = 0;     // in Snapshot::roots, where the path begins
  RootPath root_path;         // to the nearest of the objects
  std::vector<OtherPath> other_paths = {};          // the paths that hold most of the other objects
  std::uint64_t left_out = 0;                       // the objects that none of these paths holds
  std::vector<snapshot::ObjectIndex> members = {};  // the objects that make up `retained_bytes`
};

struct GrowthHolders {
  std::uint64_t new_bytes = 0;      // of all new objects
  std::vector<GrowthHolder> found;  // the largest first; no byte counts in two of them
};

// Whether the snapshot has edges and roots.
[[nodiscard]] bool knows_holders(const snapshot::Snapshot& snapshot);

// Adds to each row the bytes that its type retains in the first and the last snapshot.
// knows_holders() must be true of both.
void add_retained(std::span<const snapshot::Snapshot* const> snapshots,
                  snapshot::CountBy by,
                  Difference& difference);

// `difference` compares the snapshots and has all rows; the last snapshot has edges and roots.
// `known_new` has the objects of the last snapshot that are new even if an object like them was at
// their address before; it may be empty.
[[nodiscard]] GrowthHolders find_growth_holders(
    std::span<const snapshot::Snapshot* const> snapshots,
    bool is_same_process,
    snapshot::CountBy by,
    const Difference& difference,
    const std::vector<bool>& known_new = {});

}  // namespace heapattach::analyze
