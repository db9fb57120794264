#pragma once

#include <memory>

#include "attach/memory/live_memory.h"
#include "inject/remote_control.h"

namespace heapattach {

// The RemoteControl of real processes. No other code in heapattach opens the target's memory for
// writing or lets one of its threads run for us. All calls must come from the thread that traces
// the target's threads.
class PtraceControl final : public RemoteControl {
 public:
  // `target` must outlive this.
  static Result<std::unique_ptr<PtraceControl>> open(const Process& target);

  Result<RawRegisters> registers(pid_t tid) override;
  Result<void> set_registers(pid_t tid, const RawRegisters& values) override;
  Result<std::uint64_t> signal_mask(pid_t tid) override;
  Result<void> set_signal_mask(pid_t tid, std::uint64_t mask) override;
  Result<RseqConfiguration> rseq(pid_t tid) override;
  Result<CallDispatch> call_dispatch(pid_t tid) override;
  Result<std::vector<SeccompFilter>> filters(pid_t tid) override;
  Result<std::vector<std::byte>> extended_state(pid_t tid) override;
  Result<bool> has_wide_vectors(pid_t tid) override;
  Result<void> set_extended_state(pid_t tid, std::span<const std::byte> values) override;
  Result<SignalOrigin> signal_origin(pid_t tid) override;
  [[nodiscard]] const MemoryReader& memory() const override { return memory_; }
  Result<void> write(pid_t tid, RemoteAddr at, std::span<const std::byte> bytes) override;
  Result<void> run_to_call(pid_t tid, int signal) override;
  Result<void> run_on(pid_t tid, int signal) override;
  Result<void> interrupt(pid_t tid) override;
  Result<RemoteStop> wait(pid_t tid, std::chrono::steady_clock::time_point deadline) override;
  Result<void> offer_to_oom_killer(pid_t pid) override;
  Result<void> detach(pid_t tid) override;
  void kill(pid_t pid) noexcept override;

 private:
  PtraceControl(const Process& target, Fd mem, Fd mem_for_writing)
      : memory_(target, std::move(mem)), mem_(std::move(mem_for_writing)) {}

  LiveMemory memory_;
  Fd mem_;  // /proc/<pid>/mem, for writing
};

}  // namespace heapattach
