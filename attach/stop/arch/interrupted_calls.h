#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include <sys/types.h>

#include "attach/arch/registers.h"
#include "attach/arch/system_calls.h"
#include "attach/process/blocked_call.h"
#include "attach/process/process.h"

namespace heapattach {

// The system calls that stops interrupt, as far as a stopped thread's registers do not show them.
// On x86-64 they do, and nothing here has an effect.
//
// On aarch64 the kernel forgets, before a thread stops, which call it was in; if the call fails
// with EINTR, its first argument is no longer in the registers either. So this notes the call
// before the interrupt, and compares.
class InterruptedCalls {
 public:
  explicit InterruptedCalls(const Process& process) : process_(process) {}

  // A thread that is traced is about to be interrupted.
  void before_interrupt(pid_t tid);
  // A signal was about to be delivered to it instead: what is seen afterwards may be the work of a
  // signal handler.
  void after_signal(pid_t tid);
  // Adds to the registers, which have just been read, what is known about the thread's call. The
  // thread is stopped and traced by the calling thread.
  void add_to(pid_t tid, RawRegisters& registers) const;

 private:
  struct Before {
    BlockedCall call;
    std::optional<std::uint64_t> blocks;  // how often the thread had blocked
  };

  [[maybe_unused]] const Process& process_;
  [[maybe_unused]] std::unordered_map<pid_t, Before> before_;
  [[maybe_unused]] std::chrono::nanoseconds waited_{};  // for threads that ran
};

// Whether the kernel still decides about a thread's interrupted call if the thread makes another
// one meanwhile, and its registers are then restored.
#ifdef __x86_64__
inline constexpr bool kKernelKeepsCall = true;
#else
inline constexpr bool kKernelKeepsCall = false;
#endif

// Adds to registers that were read again during a stop what the stop has shown of the thread's
// call.
void recall_call(RawRegisters& registers, const Registers& at_stop);

// Whether a stop interrupted this call with a time limit, at a thread that makes it only once and
// no other with its number.
bool is_interrupted_in(const RawRegisters& at_stop, long number);

#ifdef __x86_64__
inline bool is_interrupted_in(const RawRegisters& at_stop, long number) {
  return call_number(at_stop) == number && call_result(at_stop) == kRestartBlock;
}
inline void recall_call(RawRegisters& /*registers*/, const Registers& /*at_stop*/) {}
inline void InterruptedCalls::before_interrupt(pid_t /*tid*/) {}
inline void InterruptedCalls::after_signal(pid_t /*tid*/) {}
inline void InterruptedCalls::add_to(pid_t /*tid*/, RawRegisters& /*registers*/) const {}
#else
// The effect of an interrupt on the call `before` that a thread was in; None if it had left the
// call before it stopped. `at` are the registers at the stop.
[[nodiscard]] Interruption interruption_of(const BlockedCall& before, const RawRegisters& at);
#endif

}  // namespace heapattach
