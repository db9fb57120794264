#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/analyze/holding.h"
#include "report/analyze/merged_paths.h"
#include "report/analyze/root_paths.h"
#include "report/analyze/why.h"
#include "report/model/model.h"

// Finds the few objects that each gather a tenth of the heap or more.
namespace heapattach::analyze {

// An amount of one type.
struct Content {
  snapshot::TypeIndex type = 0;  // one of the types with its name
  std::uint64_t objects = 0;
  std::uint64_t bytes =
      0;  // their own; for gathered objects, including everything that they retain
};

struct Suspect {
  // An object that gathers memory, or all objects of a type that no single object holds together.
  snapshot::ObjectIndex object = 0;  // for a type, the first of its objects
  bool is_type = false;
  std::uint64_t objects = 1;  // objects of the type, or links of the list or tree that begins here
  bool is_tree = false;
  bool is_own_of_runtime = false;  // own_of_runtime.h
  std::uint64_t retained_bytes = 0;
  // The object that the sentence names, and the bytes that it retains. For a buffer that only its
  // container references, this is the container; otherwise the object itself.
  snapshot::ObjectIndex named = 0;
  std::uint64_t named_retains = 0;
  std::optional<Content> gathered;  // the type of most objects directly below
  std::vector<Content> contents;    // what the named object retains, by type, the largest first
  std::uint32_t root = 0;           // of Snapshot::roots, and the path from there to the object
  analyze::RootPath root_path;
  std::string root_path_summary;  // "global CACHE → @h → @entries"
  std::vector<OtherPath> also{};  // other paths that hold objects of a type
  // In Suspects::found, the nearest earlier suspect that retains all of this one.
  std::optional<std::size_t> within{};
  std::string part{};  // the part of that suspect: "World.log's buffer"; empty if `within` is none
  std::string sentence;
};

struct Suspects {
  std::uint64_t live_bytes = 0;
  std::uint64_t threshold = 0;  // bytes
  // The program's objects come first, then the runtime's own, then code; within each group, the
  // largest. A suspect within another one follows it.
  std::vector<Suspect> found;
  // Bytes retained by objects of unknown types that belong to no suspect.
  std::uint64_t untyped_bytes = 0;

  // Whether the heap is so small that shares of it mean nothing.
  [[nodiscard]] bool is_small() const { return live_bytes < kSmallHeap; }
  static constexpr std::uint64_t kSmallHeap = 1U << 20;
};

// The snapshot must have its edges.
[[nodiscard]] Suspects find_suspects(const snapshot::Snapshot& snapshot);
// Finds the suspects if the retention data and the shortest paths from these roots are already
// known.
[[nodiscard]] Suspects find_suspects(const snapshot::Snapshot& snapshot,
                                     const Holding& holding,
                                     const analyze::ShortestPaths& root_paths,
                                     EdgeNames& names,
                                     MergedPaths& merged);

}  // namespace heapattach::analyze
