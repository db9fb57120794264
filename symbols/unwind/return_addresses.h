#pragma once

#include <optional>

#include "symbols/elf/module.h"

namespace heapattach::unwind {

// The call that an address would be returned to from.
struct CallBefore {
  std::optional<RemoteAddr> target;  // none: it goes where a register or memory says
};

// Whether the instruction before `at` may be a call, by the module's file. Code has no beginning
// from which to tell instructions apart, so that some other may look like one.
[[nodiscard]] std::optional<CallBefore> call_before(const Module& module, RemoteAddr at);

// Whether the function at `start` begins with what makes a frame pointer.
[[nodiscard]] bool begins_with_frame(const Module& module, RemoteAddr start);

}  // namespace heapattach::unwind
