#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/model/model.h"

// Leaks are objects in use that no root reaches. A leaked object usually keeps others: a list keeps
// its entries, an entry its texts. So leaks are grouped by their roots: a leaked object that no
// other leaked object references, or a cycle of objects that no object outside the cycle
// references. Each leaked object counts towards one root, so that the numbers add up. The search
// takes linear time.
namespace heapattach::analyze {

// The leaks whose roots have one type.
struct LeakRow {
  snapshot::TypeIndex type = 0;       // of the roots
  bool is_cycle = false;              // the roots are in cycles
  std::uint64_t leaks = 0;            // roots
  std::uint64_t objects = 0;          // the roots, and the objects that count towards them
  std::uint64_t bytes = 0;            // of all these objects
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
  std::vector<LeakedType> types;      // the most bytes first
  std::vector<LeakedObject> members;  // the objects that the rows count, if requested
  std::uint64_t leaks = 0;
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  std::uint64_t allocated = 0;        // objects that can leak, leaked or not
  std::uint64_t ignored_objects = 0;  // leaked, but not in the numbers above
  std::uint64_t ignored_bytes = 0;
  std::uint64_t unconfirmed_objects = 0;  // unreachable now, but not leaked in the earlier snapshot
};

struct LeakOptions {
  // Globs for types: a leak whose root has such a type is left out, with all its objects.
  std::vector<std::string> ignored;
  // If not null, an object only counts if it is leaked in this earlier snapshot of the same
  // process, too, at the same address and with the same size.
  const snapshot::Snapshot* confirmed_by = nullptr;
  bool with_members = false;
};

// The places that were not searched for references to malloc's allocations: "requests of io_uring".
[[nodiscard]] std::vector<std::string> unsearched_places(const snapshot::Snapshot& snapshot);

// The snapshot must have its edges and its unreachable objects. Objects of a collector do not leak,
// because the collector frees them. An allocation of malloc that only such garbage references is
// the root of a leak.
[[nodiscard]] Leaks find_leaks(const snapshot::Snapshot& snapshot, const LeakOptions& options = {});

}  // namespace heapattach::analyze
