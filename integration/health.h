#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace heapattach {

// The kernel's view of a process, read independently of the code under test.

std::vector<pid_t> threads_of(pid_t pid);
// The state letter of one thread; '?' once it is gone.
char state_of(pid_t pid, pid_t tid);
// A line of /proc/<pid>/status, e.g. "TracerPid"; empty once it is gone.
std::string status_line(pid_t pid, const std::string& key);
std::vector<std::string> open_files(pid_t pid);

// Describes harm to a process that should look untouched: a thread that is stopped or still traced.
// Empty if there is none. A test asks its target about damage that only the target can see (lost
// signals, checksums).
std::string harm_done_to(pid_t pid);

// How many of its threads run or sleep, and are not stopped.
int threads_not_frozen(pid_t pid);

}  // namespace heapattach
