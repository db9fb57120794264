#pragma once

#include <vector>

#include "inject/call_rules.h"
#include "inject/own_process.h"

namespace heapattach {

// The protections around a function that runs in a clone.
struct CloneWalls {
  CallRules rules;
  bool may_change_files = false;  // --allow-calls permits a call that changes files
};

// Isolates a clone that no longer has any of the target's descriptors. It gets its own session and
// private memory, cannot change files or trace processes, has no privileges except to read files,
// and can make only the system calls of CallRules and `beyond`. Files that it writes are limited to
// `most_written` bytes.
//
// Shared memory is replaced by private mappings of the same files, which start with the current
// contents. Only we can open these files, if we have the privileges. If we do not, the memory
// becomes read-only for good. Without Landlock (for tests), only the system call filter prevents
// changes to files.
Result<CloneWalls> close_off(OwnProcess& own,
                             std::vector<int> beyond,
                             std::size_t most_written,
                             bool uses_landlock = true);

}  // namespace heapattach
