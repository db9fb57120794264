#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "attach/base/result.h"

namespace heapattach {

// Starts a program as our child, in our terminal. `prepare` may be empty; otherwise it is called
// with the pid before the child becomes that program, and if it fails, the child ends. Gone, with
// the reason, if the program cannot be started. Call it while this process has one thread.
Result<pid_t> start_program(const std::vector<std::string>& command,
                            const std::function<Result<void>(pid_t)>& prepare = {});

// Only the first waitpid for a program reports how it ended, and its tracer may make that call. It
// stores the status here; `ended_program` returns it, or none if nothing was stored.
void note_program_end(pid_t pid, int status) noexcept;
[[nodiscard]] std::optional<int> ended_program(pid_t pid) noexcept;

// A status from waitpid, in words: "exited with status 1", "was killed by SIGSEGV".
[[nodiscard]] std::string describe_end(int status);

}  // namespace heapattach
