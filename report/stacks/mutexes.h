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
  bool is_private = false;  // surely a thread of the same process
};

// The owner of the mutex that a thread in `call` waits for. None if it does not wait for a mutex,
// or for one that records no owner. `stack` is the thread's: a condition variable, a semaphore or a
// barrier may look like a mutex, but their functions do not.
[[nodiscard]] std::optional<MutexOwner> owner_of_awaited_mutex(const SystemCall& call,
                                                               const NamedStack& stack,
                                                               const MemoryReader& capture);

}  // namespace heapattach::stacks
