#pragma once

#include <span>
#include <vector>

#include <sys/types.h>

#include "attach/memory_reader.h"
#include "attach/registers.h"

namespace heapattach {

// The system calls that a function in a clone may make. A list of forbidden calls would never be
// complete: there is always one more call that affects another process. So we allow only what a
// dump routine, an interpreter and the loader need: memory, time, their own threads, opening files
// for reading, and writing to open files.
struct CallRules {
  pid_t self = 0;             // the clone's pid, as the clone sees it
  std::vector<int> beyond;    // extra system calls that the user allows, by number
  std::vector<Range> shared;  // memory shared with other processes that must stay read-only
};

// The system calls that are allowed with any arguments.
[[nodiscard]] std::span<const int> free_calls();

// Whether a call that is not free is allowed with the arguments in these registers. `memory` is the
// clone's memory. Another thread of the clone may change a path between this check and the kernel's
// use of it; Landlock covers that case.
[[nodiscard]] bool is_allowed(const CallRules& rules,
                              const RawRegisters& at,
                              const MemoryReader& memory);

// Whether the extra calls that the user allows may change files.
[[nodiscard]] bool may_change_files(const CallRules& rules);

}  // namespace heapattach
