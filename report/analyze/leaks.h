#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/model/model.h"

// Leaks: objects in use that nothing leads to from a root. Something that leaked usually takes more
// with it: a list its entries, an entry its texts. So leaks are grouped by their roots: leaked
// objects that no other leaked object references, or cycles of objects that none outside the cycle
// references. Each leaked object counts towards one root, so that the numbers add up. All of it is
// linear.
namespace heapattach::analyze {

// The leaks whose roots have one type.
struct LeakRow {
  snapshot::TypeIndex type = 0;       // of the roots
  bool is_cycle = false;              // the roots are in cycles
  std::uint64_t leaks = 0;            // roots
  std::uint64_t objects = 0;          // the roots, and everything that only they lead to
  std::uint64_t bytes = 0;            // of these
  snapshot::ObjectIndex example = 0;  // the first of the roots
};

struct LeakedType {
  snapshot::TypeIndex type = 0;
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
};

// A leaked object, and the root that it counts towards: itself, if it is a root.
struct LeakedObject {
  snapshot::ObjectIndex object = 0;
  snapshot::ObjectIndex root = 0;
  bool is_cycle = false;  // the root is in a cycle
};

struct Leaks {
  std::vector<LeakRow> rows;          // the most bytes first
  std::vector<LeakedType> types;      // the same
  std::vector<LeakedObject> members;  // what the rows count, if it was asked for
  std::uint64_t leaks = 0;
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  std::uint64_t allocated = 0;        // objects that can leak, leaked or not
  std::uint64_t ignored_objects = 0;  // left out of all of these
  std::uint64_t ignored_bytes = 0;
  std::uint64_t unconfirmed_objects = 0;  // out of reach, but not in the earlier snapshot
};

struct LeakOptions {
  // Globs: leaks whose root has such a type are left out, with everything that they take along.
  std::vector<std::string> ignored;
  // If not null: only what is leaked in this earlier snapshot of the same process too, at the same
  // address and of the same size.
  const snapshot::Snapshot* confirmed_by = nullptr;
  bool with_members = false;
};

// Where references to malloc's allocations may be that were not searched for: "requests of
// io_uring".
[[nodiscard]] std::vector<std::string> unsearched_places(const snapshot::Snapshot& snapshot);

// The snapshot must have its edges and its unreachable objects. In a heap with a collector nothing
// leaks, because the collector frees it. An allocation that only such garbage references is the
// root of a leak.
[[nodiscard]] Leaks find_leaks(const snapshot::Snapshot& snapshot, const LeakOptions& options = {});

}  // namespace heapattach::analyze
