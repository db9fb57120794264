#pragma once

#include <vector>

#include "inject/call_rules.h"
#include "inject/own_process.h"

namespace heapattach {

// What isolates a function that runs in a clone.
struct CloneWalls {
  CallRules rules;
  bool has_landlock = false;  // the kernel knows Landlock, which prevents changes to files
};

// Isolates a clone that has no descriptor of the target any more. It gets a session of its own,
// private memory, no files that it could change, no process that it could trace, no privileges
// except to read files, and only the system calls of CallRules and `beyond`. Files that it writes
// end at `most_written` bytes.
//
// Shared memory is replaced by private mappings of the same files, which begin with the present
// contents. Only we can open them, with the right privileges. Where we cannot, the memory becomes
// read-only, and stays so.
Result<CloneWalls> close_off(OwnProcess& own, std::vector<int> beyond, std::size_t most_written);

}  // namespace heapattach
