#pragma once

#include "attach/base/result.h"

namespace heapattach {

#ifdef __x86_64__
inline constexpr bool kCanRunCode = true;
#else
inline constexpr bool kCanRunCode = false;
#endif

// Why no code can be run in a live process on this machine's processor, if so: there can be no
// copies, calls and traces of it. Everything else only reads.
[[nodiscard]] inline Result<void> check_can_run_code() {
  if (kCanRunCode) return {};
  return Error{ErrorKind::Impossible, "heapattach cannot run code in a process on aarch64 yet"};
}

}  // namespace heapattach
