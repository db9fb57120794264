#pragma once

#include <optional>
#include <string>

#include "inject/clone_call.h"
#include "report/call/function_call.h"

namespace heapattach {

// Says in `report` what became of a call that did not return, and where it stood: with the names of
// functions, from the piece of its stack in `outcome`. `given_up` is why the clone was, if it was.
// To be called while this process has one thread.
void explain_ending(const CallOptions& options,
                    const Modules& modules,
                    const CallOutcome& outcome,
                    const std::optional<std::string>& given_up,
                    CallReport& report);

}  // namespace heapattach
