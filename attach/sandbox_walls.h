#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "attach/sandbox.h"

namespace heapattach {

// Takes away from this process, for good, everything that a sandboxed worker does not need. Called
// in the child. A call that would reach a program, a socket, another process or another thread ends
// it; all other system calls outside the list fail with EPERM. It dies with `parent`. False if the
// filter could not be installed; the rest is done as far as possible.
[[nodiscard]] bool put_up_walls(const SandboxLimits& limits, int output, pid_t parent);

// The same for a tool that continues with many threads, its own workers, and all its descriptors:
// it reads and writes those, and cannot open anything, run a program, or reach another process,
// except through requests to `broker`, a socket. It dies with `parent`, unless that is 0. Returns
// what could not be done, in words.
[[nodiscard]] std::vector<std::string> give_up_rights(int broker, pid_t parent);

}  // namespace heapattach
