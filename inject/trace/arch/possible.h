#pragma once

#include "attach/base/result.h"

namespace heapattach::trace {

// Why no process can be traced on this machine's processor, if so.
[[nodiscard]] inline Result<void> check_can_trace() {
#ifdef __x86_64__
  return {};
#else
  return Error{ErrorKind::Impossible, "heapattach cannot trace a process on aarch64 yet"};
#endif
}

}  // namespace heapattach::trace
