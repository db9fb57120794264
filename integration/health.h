#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace heapattach {

// The kernel's view of a process, read independently of the code under test.

std::vector<pid_t> threads_of(pid_t pid);
// The state letter of a thread; '?' once the thread is gone.
char state_of(pid_t pid, pid_t tid);
// The value of a line of /proc/<pid>/status, such as "TracerPid"; empty once the process is gone.
std::string status_line(pid_t pid, const std::string& key);
std::vector<std::string> open_files(pid_t pid);

// Describes harm to a process that should look untouched: a thread that is stopped or still traced.
// Empty if there is no harm. A test asks its target about damage that only the target can see (lost
// signals, checksums).
std::string harm_done_to(pid_t pid);

// The number of the process's threads that run or sleep, and are not stopped.
int threads_not_frozen(pid_t pid);

}  // namespace heapattach
