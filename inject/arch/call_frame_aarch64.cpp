#include <algorithm>

#include "attach/arch/system_calls.h"
#include "inject/arch/call_frame.h"
#include "inject/arch/state_aarch64.h"

namespace heapattach {

RawRegisters entering_function(const RawRegisters& found,
                               RemoteAddr function,
                               std::uint64_t stack,
                               std::span<const std::uint64_t, kArgumentRegisters> arguments) {
  constexpr unsigned kFramePointer = 29;
  constexpr unsigned kReturnTo = 30;
  RawRegisters in = found;
  std::ranges::copy(arguments, std::begin(in.general.regs));
  in.general.regs[kFramePointer] = 0;  // the chain of frames ends here
  in.general.regs[kReturnTo] = kReturnAddress.value;
  in.general.sp = stack;
  in.general.pc = function.value;
  in.general.pstate &= ~(kConditionFlags | kBranchType);
  leave_call(in);
  return in;
}

std::uint64_t function_result(const RawRegisters& now) {
  return now.general.regs[0];
}

bool has_returned(const CallFrame& frame, const RawRegisters& now) {
  return now.general.pc == kReturnAddress.value && now.general.sp == frame.stack_after().value;
}

}  // namespace heapattach
