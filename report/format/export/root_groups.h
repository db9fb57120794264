#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/model/model.h"

namespace heapattach {

// What the roots that stand in one place have in common: "static data", "thread 4711 stack".
struct RootGroup {
  snapshot::RootKind kind = snapshot::RootKind::Global;
  std::string label;                 // safe to show
  std::vector<std::uint32_t> roots;  // indices into Snapshot::roots, in their order
};

// The roots by place, in the order in which the places first occur. Roots of the snapshot whose
// object it does not count are left out.
[[nodiscard]] std::vector<RootGroup> group_roots(const snapshot::Snapshot& snapshot);
// The same of some roots, by their numbers.
[[nodiscard]] std::vector<RootGroup> group_roots(const snapshot::Snapshot& snapshot,
                                                 const std::vector<std::uint32_t>& roots);

// Whether the snapshot's counts have the object.
[[nodiscard]] inline bool is_counted(const snapshot::Snapshot& snapshot,
                                     const snapshot::Object& object) {
  return object.is_reachable != 0 || !snapshot.header.live_only;
}

}  // namespace heapattach
