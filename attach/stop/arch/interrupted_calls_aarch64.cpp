#include <algorithm>
#include <cerrno>
#include <span>
#include <string>

#include <fmt/format.h>
#include <sched.h>

#include "attach/arch/system_calls.h"
#include "attach/process/kernel_text.h"
#include "attach/stop/arch/interrupted_calls.h"

// The kernel decides about an interrupted call before it stops the thread (do_signal() in
// arch/arm64/kernel/signal.c). A call to be restarted: x0 is its first argument again, and pc is at
// the instruction. Any other has its result in x0. In both cases, NT_ARM_SYSTEM_CALL is -1. If pc
// is still there afterwards, a call with a time limit continues as restart_syscall by itself.
//
// So a call that has failed with EINTR looks the same as one that failed before, because of a
// signal: the handler has run, and the thread is back after the instruction. The program must see
// that EINTR. Three facts together exclude this:
//
// - The thread was seized before it was seen in the call. From then on, a signal stops it first,
//   which after_signal() reports.
// - It was blocked in the call, so it had not been interrupted yet.
// - At the stop, it is after the instruction, with the same stack pointer and the same arguments.
//
// The kernel shows the first argument (orig_x0) only until the stop. (Writing the call's number
// back to NT_ARM_SYSTEM_CALL shows it again with Linux 6.12, but not with 6.1.) So it is the one
// that was seen before. Another call at the same place, with another first argument only, would
// have to begin in between. The thread would block there, or be stopped before that, in the few
// instructions of the kernel between the entry of the call and its first look for signals, and
// after an event in the same microseconds. The number of times that the thread has blocked shows
// the former; the latter is the limit of this method.

namespace heapattach {

namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kNumberRegister = 8;

std::optional<BlockedCall> call_in(const Process& process, pid_t tid) {
  const auto text = process.read_file(fmt::format("task/{}/syscall", tid));
  if (!text) return std::nullopt;
  return parse_blocked_call(*text);
}

// How often it has blocked; none if the kernel does not show that.
std::optional<std::uint64_t> blocks_of(const Process& process, pid_t tid) {
  const auto text = process.read_file(fmt::format("task/{}/status", tid));
  return text ? number_after(*text, "voluntary_ctxt_switches") : std::nullopt;
}

}  // namespace

Interruption interruption_of(const BlockedCall& before, const RawRegisters& at) {
  const std::span<const unsigned long long> registers(at.general.regs);
  const auto has_arguments = [&](unsigned from) {
    return std::equal(before.arguments.begin() + from, before.arguments.end(),
                      registers.begin() + from);
  };
  const bool is_same = at.call < 0 && before.number >= 0 &&
                       registers[kNumberRegister] == static_cast<std::uint64_t>(before.number) &&
                       at.general.sp == before.stack_pointer.value && has_arguments(1);
  if (!is_same) return Interruption::None;
  if (at.general.pc == before.instruction_pointer.value) {
    return call_result(at) == -EINTR ? Interruption::Fails : Interruption::None;
  }
  const bool is_before =
      at.general.pc + call_instruction().size() == before.instruction_pointer.value;
  return is_before && has_arguments(0) ? Interruption::Restarts : Interruption::None;
}

// A thread that runs may be about to block in a call, and the stop would then interrupt one that
// was not seen: it has just been released from another freeze, or has been woken. So it is given a
// moment to get there. Threads that compute share a longer one.
void InterruptedCalls::before_interrupt(pid_t tid) {
  constexpr std::chrono::microseconds kForThread{300};
  constexpr std::chrono::milliseconds kForAll{3};
  const auto start = Clock::now();
  for (;;) {
    const auto blocks = blocks_of(process_, tid);
    if (const auto call = call_in(process_, tid); call && call->number >= 0) {
      before_.insert_or_assign(tid, Before{*call, blocks});
      break;
    }
    before_.erase(tid);
    const auto waited = Clock::now() - start;
    if (waited >= kForThread || waited_ + waited >= kForAll) break;
    sched_yield();
  }
  waited_ += Clock::now() - start;
}

void InterruptedCalls::after_signal(pid_t tid) {
  before_.erase(tid);
}

void InterruptedCalls::add_to(pid_t tid, RawRegisters& registers) const {
  const auto found = before_.find(tid);
  if (found == before_.end()) return;
  const auto& [before, blocks] = found->second;
  const Interruption interruption = interruption_of(before, registers);
  if (interruption == Interruption::None) return;
  // It blocks once for the stop itself. If it has blocked more often, the call is left alone.
  const bool has_blocked_once = blocks && blocks_of(process_, tid) == *blocks + 1;
  if (interruption == Interruption::Fails && !has_blocked_once) return;
  registers.interruption = interruption;
  registers.call = before.number;
  registers.first_argument = before.arguments[0];
}

void recall_call(RawRegisters& registers, const Registers& at_stop) {
  if (!at_stop.system_call) return;
  const bool is_before = registers.general.pc != at_stop.instruction_pointer.value;
  registers.interruption = is_before ? Interruption::Restarts : Interruption::Fails;
  registers.call = static_cast<std::int64_t>(*at_stop.system_call);
  registers.first_argument = at_stop.general[0];
}

// The thread is at the call's instruction again, or has not reached it yet, or has just left it.
bool is_interrupted_in(const RawRegisters& at_stop, long number) {
  return at_stop.general.regs[kNumberRegister] == static_cast<std::uint64_t>(number);
}

}  // namespace heapattach
