#pragma once

#include "report/model/model.h"
#include "report/stacks/crystal_library.h"
#include "report/stacks/stack_report.h"

namespace heapattach::stacks {

// What --stacks says about a saved snapshot: its threads, fibers and findings, as far as it has
// them. `saved` of the report is set, and says what a snapshot does not have.
[[nodiscard]] StackReport saved_stacks(const snapshot::Snapshot& snapshot);

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
