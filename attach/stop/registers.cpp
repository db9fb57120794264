#include "attach/stop/registers.h"

#include <cerrno>

namespace heapattach {

namespace {

// What a call returns inside the kernel when it will be entered again (include/linux/errno.h):
// ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND, ERESTART_RESTARTBLOCK. A few return EINTR instead.
bool is_thrown_out(std::int64_t returned) {
  return returned == -512 || returned == -513 || returned == -514 || returned == -516 ||
         returned == -EINTR;
}

std::optional<std::uint64_t> system_call_of(const RawRegisters& raw) {
  const bool is_in_call = static_cast<std::int64_t>(raw.orig_rax) >= 0;
  if (!is_in_call || !is_thrown_out(static_cast<std::int64_t>(raw.rax))) return {};
  return raw.orig_rax;
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

}  // namespace heapattach
