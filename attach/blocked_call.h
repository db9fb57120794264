#pragma once

#include <optional>
#include <string_view>

#include "attach/remote_addr.h"

namespace heapattach {

// Where a thread that blocks in the kernel will return to, from /proc/<tid>/syscall.
struct BlockedCall {
  long number = -1;  // the system call; -1 for a page fault or similar
  RemoteAddr stack_pointer;
  RemoteAddr instruction_pointer;
};

// None for a running thread ("running") and for any line of another form.
std::optional<BlockedCall> parse_blocked_call(std::string_view text);

}  // namespace heapattach
