#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/model/model.h"

namespace heapattach {

// The roots in one location, with its name: "static data", "thread 4711 stack".
struct RootGroup {
  snapshot::RootKind kind = snapshot::RootKind::Global;
  std::string label;                 // safe to show
  std::vector<std::uint32_t> roots;  // indices into Snapshot::roots, ascending
};

// Groups roots by location, in the order in which the locations first occur. Omits roots whose
// objects the snapshot does not count.
[[nodiscard]] std::vector<RootGroup> group_roots(const snapshot::Snapshot& snapshot);
// Groups only the roots with these indices.
[[nodiscard]] std::vector<RootGroup> group_roots(const snapshot::Snapshot& snapshot,
                                                 const std::vector<std::uint32_t>& roots);

// Whether the snapshot counts the object.
[[nodiscard]] inline bool is_counted(const snapshot::Snapshot& snapshot,
                                     const snapshot::Object& object) {
  return object.is_reachable != 0 || !snapshot.header.live_only;
}

}  // namespace heapattach
