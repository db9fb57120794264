#include "inject/way_back.h"

#include <fmt/format.h>
#include <linux/rseq.h>
#include <sys/syscall.h>

#include "attach/arch/x86_64.h"

namespace heapattach {

namespace {

// include/linux/errno.h of the kernel; programs never see them.
constexpr std::int64_t kRestartSys = -512;
constexpr std::int64_t kRestartNoIntr = -513;
constexpr std::int64_t kRestartNoHand = -514;
constexpr std::int64_t kRestartBlock = -516;
constexpr std::uint64_t kSequencePointerOffset = 8;  // of rseq_cs in struct rseq

Error malformed(RemoteAddr at) {
  return {ErrorKind::Malformed,
          fmt::format("the description of its restartable sequence at {} makes no sense", at)};
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
  if (static_cast<std::int64_t>(at_stop.orig_rax) < 0) return CallState::None;
  switch (static_cast<std::int64_t>(at_stop.rax)) {
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
    case CallState::Restarts:
      back.rax = at_stop.orig_rax;
      back.rip -= kSyscallBytes;
      break;
    case CallState::RestartsRest:
      back.rax = SYS_restart_syscall;
      back.rip -= kSyscallBytes;
      break;
  }
  back.orig_rax = static_cast<std::uint64_t>(-1);
  return back;
}

}  // namespace heapattach
