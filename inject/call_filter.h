#pragma once

#include <vector>

#include <linux/filter.h>
#include <sys/types.h>

namespace heapattach {

// What the kernel tells of a call that the filter stops, as PTRACE_GETEVENTMSG.
inline constexpr unsigned kTriesProcess = 1;
inline constexpr unsigned kTriesProgram = 2;

// A seccomp filter for a clone that is made to run, `self` as itself knows it: by system calls it
// can neither signal, trace nor write to another process, nor become or start one. A thread's
// number that it has from before it was a clone is another process's: musl's raise() would send
// SIGABRT to the thread of the target that the clone was made of.
std::vector<sock_filter> call_filter(pid_t self);

}  // namespace heapattach
