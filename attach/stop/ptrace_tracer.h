#pragma once

#include <atomic>
#include <vector>

#include "attach/stop/arch/interrupted_calls.h"
#include "attach/stop/tracer.h"

namespace heapattach {

// The Tracer for real processes. It uses PTRACE_SEIZE and PTRACE_INTERRUPT, so no signal is ever
// sent to the target, and never PTRACE_O_EXITKILL, so the target survives us. All calls must come
// from the thread that created it: the kernel ties tracing to a thread, and ends it with that
// thread.
class PtraceTracer final : public Tracer {
 public:
  // Both arguments must outlive the tracer. `is_seizing` is true while PTRACE_SEIZE may block: see
  // reap_dead_threads() in freeze.cpp.
  PtraceTracer(const Process& process, std::atomic<bool>& is_seizing) noexcept;

  Result<ThreadListing> threads() override;
  Result<ThreadState> state(pid_t tid) override;
  Result<void> seize(pid_t tid) override;
  Result<void> interrupt(pid_t tid) override;
  Result<std::optional<TraceEvent>> poll(pid_t tid) override;
  void resume(pid_t tid, int signal) noexcept override;
  bool detach(pid_t tid, int signal) noexcept override;
  Result<RawRegisters> registers(pid_t tid) override;
  std::vector<std::uint64_t> vector_registers(pid_t tid) override;
  Result<void> set_registers(pid_t tid, const RawRegisters& values) override;
  bool is_after_syscall(pid_t tid, RemoteAddr at) override;
  std::uint64_t deliverable_signals(pid_t tid) override;
  std::optional<RemoteAddr> blocked_stack_pointer(pid_t tid) override;
  [[nodiscard]] std::chrono::steady_clock::time_point now() const override;
  void back_off(int idle_rounds) override;

 private:
  // Returns why PTRACE_SEIZE was refused, or success if the kernel had already seized the thread
  // for us when it was created.
  Result<void> explain_refusal(pid_t tid) const;

  const Process& process_;
  std::atomic<bool>& is_seizing_;
  pid_t own_tid_;
  InterruptedCalls calls_;
};

}  // namespace heapattach
