#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include <sys/types.h>

#include "attach/arch/registers.h"
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
    std::optional<std::uint64_t> runs;  // how often the thread had been given a processor
  };

  [[maybe_unused]] const Process& process_;
  [[maybe_unused]] std::unordered_map<pid_t, Before> before_;
};

#ifdef __x86_64__
inline void InterruptedCalls::before_interrupt(pid_t /*tid*/) {}
inline void InterruptedCalls::after_signal(pid_t /*tid*/) {}
inline void InterruptedCalls::add_to(pid_t /*tid*/, RawRegisters& /*registers*/) const {}
#else
// The effect of an interrupt on the call `before` that a thread was in; None if it had left the
// call before it stopped. `at` are the registers at the stop.
[[nodiscard]] Interruption interruption_of(const BlockedCall& before, const RawRegisters& at);
#endif

}  // namespace heapattach
