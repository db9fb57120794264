#pragma once

#include <optional>
#include <string_view>

#include "attach/remote_addr.h"

namespace heapattach {

// Where a thread that blocks in the kernel will come back to, as /proc/<tid>/syscall tells.
struct BlockedCall {
  long number = -1;  // of the system call; -1 for a page fault or the like
  RemoteAddr stack_pointer;
  RemoteAddr instruction_pointer;
};

// None for a thread that runs ("running"), and for anything else that is not such a line.
std::optional<BlockedCall> parse_blocked_call(std::string_view text);

}  // namespace heapattach
