#pragma once

#include "report/model/model.h"
#include "report/stacks/crystal_library.h"
#include "report/stacks/stack_report.h"

namespace heapattach::stacks {

// The --stacks report of a saved snapshot, with the threads, fibers and findings that it contains.
// Sets `saved` in the report.
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
