#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "attach/sandbox.h"

namespace heapattach {

// Takes from this process, for good, what a sandboxed worker has no use for. Called in the child.
// Reaching for a program, a socket, another process or another thread ends it; all other system
// calls that are not on the list fail with EPERM. It dies with `parent`. False if the filter could
// not be put up; the rest is done as far as it goes.
[[nodiscard]] bool put_up_walls(const SandboxLimits& limits, int output, pid_t parent);

// The same for a tool that goes on with many threads, workers of its own, and all descriptors that
// it has: it reads and writes those, and can neither open anything, nor run a program, nor reach
// another process, but for what it asks for by `broker`, a socket. Dies with `parent`, unless that
// is 0. What could not be done, for people.
[[nodiscard]] std::vector<std::string> give_up_rights(int broker, pid_t parent);

}  // namespace heapattach
