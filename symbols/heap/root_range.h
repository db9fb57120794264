#pragma once

#include <cstdint>
#include <string_view>

#include <sys/types.h>

#include "attach/base/remote_addr.h"

namespace heapattach::heap {

enum class RootKind : std::uint8_t {
  Global,
  Stack,
  Register,
  Fiber,
  Uncollectable,
  Finalizer,
  Kept,  // by the kernel: a copy of it is in the capture, and its addresses mean nothing
};

// Memory whose words are roots.
struct RootRange {
  RootKind kind = RootKind::Global;
  Range range;
  pid_t thread = 0;            // the thread that uses this stack; 0: none, or not a stack
  std::uint64_t fiber = 0;     // the object of the fiber that owns this stack, if known
  std::string_view name = {};  // a name for memory that is not a variable; a literal, or empty
  bool is_packed = false;      // a reference may begin at any byte, and may have 4 bytes, in code
};

}  // namespace heapattach::heap
