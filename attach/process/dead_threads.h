#pragma once

#include "attach/process/process.h"

namespace heapattach {

// Reaps the dead threads of `process`, except its first, on behalf of the tracing thread while that
// is blocked in PTRACE_SEIZE.
//
// PTRACE_SEIZE waits for a lock that execve holds (ptrace_attach: cred_guard_mutex), and execve
// waits until all other threads of its process are gone (de_thread), and have been reaped by their
// tracer too. So a tracer that has seized one thread and is now seizing another would deadlock with
// the target. Only another thread in the tracer's process can reap the dead ones.
void reap_dead_threads(const Process& process);

}  // namespace heapattach
