#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include <sys/user.h>

#include "attach/base/remote_addr.h"

namespace heapattach {

// The general registers of one stopped thread, as a collector or an unwinder needs them.
struct Registers {
  // x86-64: rax rbx rcx rdx rsi rdi rbp r8 … r15, in this order.
  std::array<std::uint64_t, 15> general{};
  RemoteAddr instruction_pointer;
  RemoteAddr stack_pointer;
  RemoteAddr thread_pointer;  // x86-64: fs_base, which is glibc's pthread_t
  // The system call that the stop interrupted, which is restarted or fails with EINTR; none if the
  // thread was not in a blocking call.
  std::optional<std::uint64_t> system_call{};
};

// All registers, in the kernel's own layout.
using RawRegisters = user_regs_struct;

[[nodiscard]] Registers registers_of(const RawRegisters& raw);

[[nodiscard]] RemoteAddr instruction_pointer(const RawRegisters& at);
[[nodiscard]] RemoteAddr stack_pointer(const RawRegisters& at);
void set_instruction_pointer(RawRegisters& registers, RemoteAddr at);
[[nodiscard]] bool runs_64_bit_code(const RawRegisters& at);
[[nodiscard]] bool is_single_stepping(const RawRegisters& at);

}  // namespace heapattach
