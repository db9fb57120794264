#pragma once

#include "attach/process.h"

namespace heapattach {

// Reaps those threads of `process`, other than its first, that have ended and that one of our
// threads traces. It does so in place of that thread, while that one is blocked in PTRACE_SEIZE.
//
// PTRACE_SEIZE waits for a lock that execve holds (ptrace_attach: cred_guard_mutex), and execve
// waits until all other threads of its process are gone (de_thread), also from their tracer's list.
// So a tracer that has seized one thread and now seizes another would wait for ever, and the target
// with it. Only another thread in the tracer's process can reap the dead ones.
void reap_dead_threads(const Process& process);

}  // namespace heapattach
