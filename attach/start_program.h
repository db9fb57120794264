#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "attach/result.h"

namespace heapattach {

// Starts a program as our child, in our terminal. `prepare` may be empty; otherwise it is called
// with the pid before the child becomes that program, and if it fails, the child ends. Gone, with
// the reason, if the program cannot be started. Call it while this process has one thread.
Result<pid_t> start_program(const std::vector<std::string>& command,
                            const std::function<Result<void>(pid_t)>& prepare = {});

// Only the first to wait for a program learns how it ended, and that may be its tracer. Whoever
// waits notes it here; `ended_program` gives it to the others, or none if nothing was noted.
void note_program_end(pid_t pid, int status) noexcept;
[[nodiscard]] std::optional<int> ended_program(pid_t pid) noexcept;

// What waitpid said of the end of a program: "exited with status 1", "was killed by SIGSEGV".
[[nodiscard]] std::string describe_end(int status);

}  // namespace heapattach
