#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/graph/graph.h"
#include "report/snapshot/model.h"

// The roots of a snapshot, as a reader wants to hear of them.
namespace heapattach::explain {

// The roots that say something, in the order in which they explain most: globals with a name before
// those without and before stacks; registers and finalizers last, which hold things in passing.
struct RootOrder {
  explicit RootOrder(const snapshot::Snapshot& snapshot);

  std::vector<std::uint32_t> numbers;          // of Snapshot::roots
  std::vector<snapshot::ObjectIndex> objects;  // that they hold, in the same order
};

// "global CACHE", "stack of thread 4711 (worker) at 0x7ffd…"; texts of the target as they are.
[[nodiscard]] std::string root_in_words(const snapshot::Snapshot& snapshot,
                                        const snapshot::Root& root);

// The same without what only tells alike roots apart: which thread, which fiber, which address.
[[nodiscard]] std::string root_kind_in_words(const snapshot::Root& root);

}  // namespace heapattach::explain
