#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <sys/types.h>

#include "attach/base/result.h"
#include "report/analyze/graph.h"
#include "report/analyze/root_paths.h"
#include "report/analyze/root_quality.h"
#include "report/model/model.h"

// Orders the roots of a snapshot and describes them in words.
namespace heapattach::analyze {

// The explaining roots of a snapshot, the best first. Within one quality, named locals come first,
// then globals, then words on stacks, then registers, whose contents are temporary.
struct RootOrder {
  explicit RootOrder(const snapshot::Snapshot& snapshot);

  // The roots that match `name`: a variable (see find_root_name()), the description of a root as
  // reports show it, or a glob. Malformed, with some similar names, if no root matches.
  [[nodiscard]] Result<RootOrder> called(const snapshot::Snapshot& snapshot,
                                         const std::string& name) const;

  // Borrows this.
  [[nodiscard]] PathOrder path_order() const {
    return {quality_ends, entered_last.empty() ? nullptr : &entered_last};
  }

  std::vector<std::uint32_t> numbers;          // of Snapshot::roots
  std::vector<snapshot::ObjectIndex> objects;  // the objects that they reference, in the same order
  std::vector<std::size_t> quality_ends;       // by analyze::RootQuality: where each quality ends
  std::vector<bool> entered_last;              // for PathOrder: the fibers, by object; may be empty
};

// The frame that contains a root's word.
struct RootFrame {
  std::uint64_t number = 0;                  // on the stack; 0 is the innermost
  const snapshot::Place* place = nullptr;    // never null
  const snapshot::CodeLine* line = nullptr;  // the line in `place` of the variable's function
  bool is_guess = false;                     // the frame is likely, not certain
};

// Describes a root: "global CACHE", "thread 4711 worker, frame 3 handle_request (src/app.cr:55),
// variable session", "stack of thread 4711 worker, a leftover word at 0x7ffd…". Names from the
// target are not sanitized.
[[nodiscard]] std::string root_in_words(const snapshot::Snapshot& snapshot,
                                        const snapshot::Root& root);

// A key that is equal for roots that reference the same object and have the same root_in_words().
// Borrows the root.
using RootInWords = std::tuple<snapshot::ObjectIndex,
                               snapshot::RootKind,
                               std::optional<pid_t>,
                               std::optional<std::uint64_t>,
                               std::string_view,
                               std::string_view,
                               std::optional<std::uint32_t>,
                               std::optional<std::uint32_t>,
                               std::string_view,
                               std::uint64_t>;
[[nodiscard]] RootInWords same_in_words(const snapshot::Root& root);

// Describes an object: "0x7f12a0 Session", "0x7f12a0 Fiber \"order-poller\"". Texts from the target
// are not sanitized.
[[nodiscard]] std::string object_in_words(const snapshot::Snapshot& snapshot,
                                          snapshot::ObjectIndex object);

// Whether the root is a word that a call left on a stack and that is no longer used.
[[nodiscard]] bool is_leftover(const snapshot::Snapshot& snapshot, const snapshot::Root& root);
// The frame that contains the root; none if the root is not on a stack, or if its frame is unknown.
[[nodiscard]] std::optional<RootFrame> frame_of(const snapshot::Snapshot& snapshot,
                                                const snapshot::Root& root);

// Describes kinds of roots, without what distinguishes similar ones: thread, fiber and address.
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
