#pragma once

#include <optional>
#include <span>

#include <sys/types.h>

#include "attach/memory_reader.h"
#include "report/stacks/stack_report.h"
#include "report/stacks/system_calls.h"

namespace heapattach::stacks {

struct MutexOwner {
  pid_t thread = 0;         // its number in its own pid namespace
  bool is_private = false;  // known to be a thread of the same process
};

// The owner of the mutex that a thread in `call` waits for. None if it is not waiting for
// a mutex, or if the mutex records no owner. The functions on `stack`, the thread's, rule out
// condition variables, semaphores and barriers, whose memory can look like a mutex.
[[nodiscard]] std::optional<MutexOwner> owner_of_awaited_mutex(const SystemCall& call,
                                                               const NamedStack& stack,
                                                               const MemoryReader& capture);

}  // namespace heapattach::stacks
