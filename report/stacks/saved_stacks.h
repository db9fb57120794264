#pragma once

#include "report/model/model.h"
#include "report/stacks/crystal_library.h"
#include "report/stacks/stack_report.h"

namespace heapattach::stacks {

// The --stacks report of a saved snapshot, with the threads, fibers and findings that it contains.
// Sets `saved` in the report.
[[nodiscard]] StackReport saved_stacks(const snapshot::Snapshot& snapshot);

// Adds the threads and findings of a report to a snapshot that has none, to be saved. The fibers of
// a Ruby thread become fibers of the snapshot, with their Ruby frames: those that the thread
// executes have it as their `thread`, innermost first; for suspended ones it is `of_thread`.
void save_stacks(const StackReport& report, snapshot::Snapshot& snapshot);

// Recognises the program's own code in the frames of a snapshot, which it borrows.
class OwnCode {
 public:
  explicit OwnCode(const snapshot::Snapshot& snapshot);

  // `line` is one of the place's.
  [[nodiscard]] bool is_in_program(const snapshot::Place& place) const;
  [[nodiscard]] bool is_own(const snapshot::Place& place, const snapshot::CodeLine& line) const;

 private:
  const snapshot::Snapshot& snapshot_;
  CrystalLibrary library_;
};

}  // namespace heapattach::stacks
