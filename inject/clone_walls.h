#pragma once

#include <vector>

#include "inject/call_rules.h"
#include "inject/own_process.h"

namespace heapattach {

// What keeps a function that runs in a clone from everything else.
struct CloneWalls {
  CallRules rules;
  bool has_landlock = false;  // the kernel knows Landlock, and keeps it from changing files
};

// Closes a clone off that has no descriptor of the target any more: a session of its own, no memory
// that it shares with others, no files that it could change, no other process that it could trace,
// no privileges but that to read files, and no system calls but those of CallRules and `beyond`.
// What it writes to a file ends at `most_written` bytes.
//
// Memory that is shared is replaced by private mappings of the same files, which begin with what is
// there and which only we, with the right privileges, can open. Where we cannot, it becomes
// read-only, and stays so.
Result<CloneWalls> close_off(OwnProcess& own, std::vector<int> beyond, std::size_t most_written);

}  // namespace heapattach
