#include <cerrno>

#include "attach/arch/registers.h"
#include "attach/arch/system_calls.h"

namespace heapattach {

namespace {

constexpr std::uint64_t kUserCode64 = 0x33;  // __USER_CS of the kernel
constexpr std::uint64_t kTrapFlag = 0x100;

// A few calls return EINTR instead of a number for a restart.
bool is_thrown_out(std::int64_t returned) {
  return returned == kRestartSys || returned == kRestartNoIntr || returned == kRestartNoHand ||
         returned == kRestartBlock || returned == -EINTR;
}

std::optional<std::uint64_t> system_call_of(const RawRegisters& raw) {
  if (!is_thrown_out(call_result(raw))) return {};
  return call_number(raw);
}

}  // namespace

Registers registers_of(const RawRegisters& raw) {
  return {.general = {raw.rax, raw.rbx, raw.rcx, raw.rdx, raw.rsi, raw.rdi, raw.rbp, raw.r8, raw.r9,
                      raw.r10, raw.r11, raw.r12, raw.r13, raw.r14, raw.r15},
          .instruction_pointer = {raw.rip},
          .stack_pointer = {raw.rsp},
          .thread_pointer = {raw.fs_base},
          .system_call = system_call_of(raw)};
}

RemoteAddr instruction_pointer(const RawRegisters& at) {
  return {at.rip};
}

RemoteAddr stack_pointer(const RawRegisters& at) {
  return {at.rsp};
}

void set_instruction_pointer(RawRegisters& registers, RemoteAddr at) {
  registers.rip = at.value;
}

bool runs_64_bit_code(const RawRegisters& at) {
  return at.cs == kUserCode64;
}

bool is_single_stepping(const RawRegisters& at) {
  return (at.eflags & kTrapFlag) != 0;
}

}  // namespace heapattach
