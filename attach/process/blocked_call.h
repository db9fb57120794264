#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "attach/base/remote_addr.h"

namespace heapattach {

// The system call that a thread is blocked in and its stack pointer, from /proc/<tid>/syscall.
struct BlockedCall {
  long number = -1;  // the system call; -1 for a page fault or similar
  std::array<std::uint64_t, 6> arguments{};
  RemoteAddr stack_pointer;
  RemoteAddr instruction_pointer;
};

// None for a running thread ("running") or a malformed line.
std::optional<BlockedCall> parse_blocked_call(std::string_view text);

}  // namespace heapattach
