#pragma once

#include <span>
#include <vector>

#include <sys/types.h>

#include "attach/memory_reader.h"
#include "attach/registers.h"

namespace heapattach {

// What a function that runs in a clone may ask the kernel for. A list of what it may not would
// never end: there is always one more system call that reaches another process. What it may is what
// a dump routine, an interpreter and the loader need: memory, time, threads of its own, files
// opened for reading, and writing to what is open.
struct CallRules {
  pid_t self = 0;             // the clone, as itself knows it
  std::vector<int> beyond;    // the system calls that its user allows besides, by number
  std::vector<Range> shared;  // memory that others have too, and that must stay read-only
};

// The system calls that are allowed whatever their arguments are.
[[nodiscard]] std::span<const int> free_calls();

// Whether the call that a thread is about to make is allowed with the arguments that it has there,
// although it is not a free one. `memory` is the clone's. A path that is judged here may be changed
// by another thread of the clone before the kernel looks at it; Landlock has the last word there.
[[nodiscard]] bool is_allowed(const CallRules& rules,
                              const RawRegisters& at,
                              const MemoryReader& memory);

// Whether what the user allows besides may change files.
[[nodiscard]] bool may_change_files(const CallRules& rules);

}  // namespace heapattach
