#include "inject/way_back.h"

#include <fmt/format.h>
#include <linux/rseq.h>
#include <sys/syscall.h>

#include "attach/arch/system_calls.h"
#include "attach/stop/arch/interrupted_calls.h"

namespace heapattach {

namespace {

constexpr std::uint64_t kSequencePointerOffset = 8;  // of rseq_cs in struct rseq

Error malformed(RemoteAddr at) {
  return {ErrorKind::Malformed,
          fmt::format("the description of its restartable sequence at {} is invalid", at)};
}

}  // namespace

// Follows the kernel (kernel/rseq.c: rseq_get_rseq_cs, rseq_ip_fixup).
Result<RseqState> rseq_state(const RseqConfiguration& configuration,
                             RemoteAddr instruction,
                             const MemoryReader& memory) {
  if (configuration.area.value == 0) return RseqState{};
  const RemoteAddr pointer = configuration.area + kSequencePointerOffset;
  const RemoteAddr at{HA_TRY(memory.read_as<std::uint64_t>(pointer))};
  if (at.value == 0) return RseqState{};
  const auto sequence = HA_TRY(memory.read_as<rseq_cs>(at));
  if (instruction - RemoteAddr{sequence.start_ip} >= sequence.post_commit_offset) {
    return RseqState{};
  }
  const RemoteAddr abort{sequence.abort_ip};
  if (sequence.version != 0 || sequence.flags != 0 ||
      sequence.abort_ip - sequence.start_ip < sequence.post_commit_offset) {
    return malformed(at);
  }
  const auto signature =
      HA_TRY(memory.read_as<std::uint32_t>(abort - sizeof configuration.signature));
  if (signature != configuration.signature) return malformed(at);
  return RseqState{.is_inside = true, .abort = abort};
}

CallState call_state(const RawRegisters& at_stop) {
  if (!call_number(at_stop)) return CallState::None;
  switch (call_result(at_stop)) {
    case kRestartSys:
    case kRestartNoIntr:
    case kRestartNoHand: return CallState::Restarts;
    case kRestartBlock: return CallState::RestartsRest;
    default: return CallState::None;
  }
}

RawRegisters way_back(const RawRegisters& at_stop, const std::optional<RawRegisters>& rewound) {
  RawRegisters back = rewound.value_or(at_stop);
  switch (call_state(at_stop)) {
    case CallState::None: break;
    case CallState::Restarts: call_again(back, *call_number(at_stop)); break;
    case CallState::RestartsRest: call_again(back, SYS_restart_syscall); break;
  }
  leave_call(back);
  return back;
}

// On aarch64, the kernel forgets what it would have decided about the interrupted call. So we
// decide here, as if there were no signal. If a signal comes during the freeze whose handler should
// end the call with EINTR, a call that the kernel restarts otherwise does not end. But a wait for
// the rest of its time ends, because rt_sigreturn makes the kernel forget the rest.
RawRegisters after_borrowing(const RawRegisters& found) {
  return kKernelKeepsCall ? found : way_back(found, std::nullopt);
}

}  // namespace heapattach
