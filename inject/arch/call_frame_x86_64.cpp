#include <array>

#include "inject/arch/call_frame.h"

namespace heapattach {

RawRegisters entering_function(const RawRegisters& found,
                               RemoteAddr function,
                               std::uint64_t stack,
                               std::span<const std::uint64_t, kArgumentRegisters> arguments) {
  // The ABI wants the direction flag clear; a function must not depend on the other flags.
  constexpr std::uint64_t kFlags = 0x202;
  RawRegisters in = found;
  in.rip = function.value;
  in.rsp = stack;
  in.rbp = 0;  // the chain of frames ends here
  in.rax = 0;  // no vector registers hold arguments
  const std::array slots{&in.rdi, &in.rsi, &in.rdx, &in.rcx, &in.r8, &in.r9};
  for (std::size_t i = 0; i < slots.size(); ++i) *slots[i] = arguments[i];
  in.eflags = kFlags;
  in.orig_rax =
      static_cast<std::uint64_t>(-1);  // in no system call, so the kernel restarts nothing
  return in;
}

std::uint64_t function_result(const RawRegisters& now) {
  return now.rax;
}

bool has_returned(const CallFrame& frame, const RawRegisters& now) {
  return now.rip == kReturnAddress.value && now.rsp == frame.stack_after().value;
}

}  // namespace heapattach
