#pragma once

#include <optional>
#include <span>
#include <string_view>

#include <sys/types.h>

#include "attach/memory/memory_reader.h"
#include "report/stacks/stack_report.h"
#include "report/stacks/system_calls.h"

namespace heapattach::stacks {

struct LockOwner {
  pid_t thread = 0;         // its number in its own pid namespace
  bool is_private = false;  // known to be a thread of the same process
  RemoteAddr lock{};
  snapshot::ThreadWaitKind kind = snapshot::ThreadWaitKind::Mutex;
};

// The thread that holds the mutex, or writes under the read-write lock, that a thread in `call`
// waits for. None if it waits for something else, or if the lock does not record its owner. The
// functions on `stack`, the thread's, tell locks from condition variables, semaphores and barriers,
// whose memory can look like a mutex.
[[nodiscard]] std::optional<LockOwner> owner_of_awaited_lock(const SystemCall& call,
                                                             const NamedStack& stack,
                                                             const MemoryReader& capture);

}  // namespace heapattach::stacks
