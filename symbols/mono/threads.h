#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attach/memory/memory_reader.h"
#include "symbols/mono/facts.h"

// Mono's threads, and the locks of objects (System.Threading.Monitor) that they wait for.
//
// A thread's own variables are below its thread pointer. One of them is the address of an object of
// the class System.Threading.InternalThread, whose fields have names like those of any other class.
//
// The second word of an object is its lock. Once a second thread has waited for the lock, the word
// has the address of a record. The record has the lock's owner, the condition variable at which
// other threads wait for the lock, and a list of the threads in Monitor.Wait, which do not hold the
// lock. An entry of the list has the handle of an event, which has a condition variable of its own.
// (Sources: monitor.h, threads.c, mono-tls.c, w32handle.h of 6.8.)
namespace heapattach::mono {

struct ManagedThread {
  std::uint32_t small_id = 0;  // the number by which a lock names its owner
  std::string name;            // empty: the thread has no name
};

// Mono's data about the thread with this thread pointer; nothing if the thread is not Mono's.
[[nodiscard]] std::optional<ManagedThread> thread_at(const ThreadClass& layout,
                                                     RemoteAddr thread_pointer,
                                                     const MemoryReader& memory);

struct AwaitedLock {
  bool is_pulse = false;  // a Monitor.Pulse of the object is awaited, not its lock
  RemoteAddr object;
  std::uint64_t vtable = 0;  // of the object
  std::uint32_t owner = 0;   // the owner's small_id; 0: nobody holds the lock at the moment
};

// The lock, or the pulse, that a thread waits for that is blocked on `futex`, and whose stack
// begins at `stack_pointer`; nothing if it waits for something else. The object is found on the
// thread's stack: its lock's condition variable, or that of one of the lock's events, contains the
// futex.
[[nodiscard]] std::optional<AwaitedLock> awaited_lock(RemoteAddr futex,
                                                      RemoteAddr stack_pointer,
                                                      const MemoryReader& memory);

// Whether `futex` is in the condition variable of the event with this handle.
[[nodiscard]] bool is_event(std::uint64_t handle, RemoteAddr futex);

}  // namespace heapattach::mono
