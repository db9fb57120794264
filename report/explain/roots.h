#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/graph/graph.h"
#include "report/snapshot/model.h"

// The roots of a snapshot, as a reader wants to hear of them.
namespace heapattach::explain {

// The roots that say something, in the order in which they explain most: globals with a name before
// those without and before stacks, of which variables with a name come first; registers and
// finalizers last, which hold things in passing.
struct RootOrder {
  explicit RootOrder(const snapshot::Snapshot& snapshot);

  std::vector<std::uint32_t> numbers;          // of Snapshot::roots
  std::vector<snapshot::ObjectIndex> objects;  // that they hold, in the same order
};

// The frame that a root's word is of.
struct RootFrame {
  std::uint64_t number = 0;                // on the stack; the innermost is 0
  const snapshot::Place* place = nullptr;  // never null
  const snapshot::CodeLine* line =
      nullptr;            // of the place: of the function that the variable is of
  bool is_guess = false;  // it is not known, but likely, that the stack has this frame
};

// "global CACHE", "thread 4711 worker, frame 3 handle_request (src/app.cr:55), variable session";
// texts of the target as they are.
[[nodiscard]] std::string root_in_words(const snapshot::Snapshot& snapshot,
                                        const snapshot::Root& root);
// None if it is on no stack, or its frame is not known.
[[nodiscard]] std::optional<RootFrame> frame_of(const snapshot::Snapshot& snapshot,
                                                const snapshot::Root& root);

// Roots without what only tells alike ones apart: which thread, which fiber, which address.
class RootKinds {
 public:
  explicit RootKinds(const snapshot::Snapshot& snapshot);

  // "variable session of handle_request on stacks of threads"
  [[nodiscard]] std::string in_words(const snapshot::Root& root) const;

 private:
  [[nodiscard]] const snapshot::Stack* stack_of(const snapshot::Root& root) const;

  const snapshot::Snapshot& snapshot_;
  std::unordered_map<pid_t, std::uint32_t> threads_;         // their stacks
  std::unordered_map<std::uint64_t, std::uint32_t> fibers_;  // as well
};

}  // namespace heapattach::explain
