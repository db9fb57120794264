#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attach/result.h"
#include "report/analyze/graph.h"
#include "report/analyze/root_quality.h"
#include "report/model/model.h"

// The roots of a snapshot in words.
namespace heapattach::analyze {

// The roots that say something, in the order in which they explain most: by quality, and of one
// quality locals that have a name, then globals, then words on stacks, then registers, which hold
// things in passing.
struct RootOrder {
  explicit RootOrder(const snapshot::Snapshot& snapshot);

  // Those that `name` names: a variable as find_root_name() finds it, or a root as it is shown, in
  // words; a glob for several. Malformed, with some similar names, if there are none.
  [[nodiscard]] Result<RootOrder> called(const snapshot::Snapshot& snapshot,
                                         const std::string& name) const;

  std::vector<std::uint32_t> numbers;          // of Snapshot::roots
  std::vector<snapshot::ObjectIndex> objects;  // the objects that they reference, in the same order
  std::vector<std::size_t> quality_ends;       // by analyze::RootQuality: where each quality ends
};

// The frame of a root's word.
struct RootFrame {
  std::uint64_t number = 0;                // on the stack; 0 is the innermost
  const snapshot::Place* place = nullptr;  // never null
  const snapshot::CodeLine* line =
      nullptr;            // of the place: of the function that the variable is of
  bool is_guess = false;  // the frame is likely, not certain
};

// "global CACHE", "thread 4711 worker, frame 3 handle_request (src/app.cr:55), variable session",
// "stack of thread 4711 worker, a leftover word at 0x7ffd…"; the target's texts unchanged.
[[nodiscard]] std::string root_in_words(const snapshot::Snapshot& snapshot,
                                        const snapshot::Root& root);
// Whether it is a word that a call left on a stack and that is no longer used.
[[nodiscard]] bool is_leftover(const snapshot::Snapshot& snapshot, const snapshot::Root& root);
// None if it is not on a stack, or if its frame is unknown.
[[nodiscard]] std::optional<RootFrame> frame_of(const snapshot::Snapshot& snapshot,
                                                const snapshot::Root& root);

// Roots without what only distinguishes similar ones: which thread, which fiber, which address.
class RootKinds {
 public:
  explicit RootKinds(const snapshot::Snapshot& snapshot);

  // "variable session of handle_request on stacks of threads", "leftover words on stacks of
  // threads"
  [[nodiscard]] std::string in_words(const snapshot::Root& root);

 private:
  const snapshot::Snapshot& snapshot_;
  analyze::RootQualities qualities_;
};

}  // namespace heapattach::analyze
