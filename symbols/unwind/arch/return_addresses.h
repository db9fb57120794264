#pragma once

#include <optional>

#include "symbols/elf/module.h"

namespace heapattach::unwind {

// The call that would return to an address.
struct CallBefore {
  std::optional<RemoteAddr> target;  // none: it calls through a register or memory
};

// The call instruction before `at`, if there may be one, according to the module's file. Code
// cannot be decoded backwards with certainty, so another instruction may look like a call.
[[nodiscard]] std::optional<CallBefore> call_before(const Module& module, RemoteAddr at);

// Whether the function at `start` first sets up a frame pointer.
[[nodiscard]] bool begins_with_frame(const Module& module, RemoteAddr start);

}  // namespace heapattach::unwind
