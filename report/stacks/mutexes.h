#pragma once

#include <optional>
#include <span>

#include <sys/types.h>

#include "attach/memory_reader.h"
#include "report/stacks/stack_report.h"
#include "report/stacks/system_calls.h"

namespace heapattach::stacks {

// The thread, by its number in its own pid namespace, that owns the mutex that a thread in `call`
// waits for. None if it waits for no mutex, or for one that keeps no owner. `stack` is the
// thread's: a condition variable, a semaphore or a barrier may look like a mutex, but not their
// functions.
[[nodiscard]] std::optional<pid_t> owner_of_awaited_mutex(const SystemCall& call,
                                                          const NamedStack& stack,
                                                          const MemoryReader& capture);

}  // namespace heapattach::stacks
