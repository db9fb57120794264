#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "inject/clone_call.h"
#include "report/call/function_call.h"

namespace heapattach {

// The position of a thread that failed to return from a function.
struct Standing {
  pid_t thread = 0;
  std::optional<RawRegisters> where;  // none: unknown
  std::span<const std::byte> stack;   // from its stack pointer on
  // Where the called function returns to. Frames from there on are heapattach's own.
  RemoteAddr return_address;
};

// The names of the functions on the thread's stack, innermost first. Call this while heapattach has
// only one thread, because it forks a worker.
std::vector<std::string> name_frames(const CallOptions& options,
                                     const Modules& modules,
                                     const Standing& standing,
                                     const Deadline& deadline);

// Whether the innermost frames wait for a lock.
[[nodiscard]] bool waits_for_lock(const std::vector<std::string>& frames);

// The name of a signal: "SIGSEGV".
[[nodiscard]] std::string name_of_signal(int signal);

// For a call that did not return, adds to `report` how it ended and where it was, with function
// names from the piece of stack in `outcome`. That may take some seconds, whatever the deadline.
// `given_up` is the reason why the clone was given up, if it was. Call this while heapattach has
// only one thread, because it forks a worker.
void explain_ending(const CallOptions& options,
                    const Modules& modules,
                    const CallOutcome& outcome,
                    const std::optional<std::string>& given_up,
                    CallReport& report);

}  // namespace heapattach
