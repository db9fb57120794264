#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include <sys/user.h>

#include "attach/base/remote_addr.h"

namespace heapattach {

// The general registers of one stopped x86-64 thread, as a collector or an unwinder needs them.
struct Registers {
  // rax rbx rcx rdx rsi rdi rbp r8 … r15, in this order.
  std::array<std::uint64_t, 15> general{};
  RemoteAddr instruction_pointer;
  RemoteAddr stack_pointer;
  RemoteAddr thread_pointer;  // fs_base: glibc's pthread_t
  // The system call that the stop interrupted, which is restarted or fails with EINTR; none if the
  // thread was not in a blocking call. Its arguments are in rdi, rsi, rdx, r10, r8 and r9.
  std::optional<std::uint64_t> system_call{};
};

// All registers, in the kernel's own layout.
using RawRegisters = user_regs_struct;

[[nodiscard]] Registers registers_of(const RawRegisters& raw);

}  // namespace heapattach
