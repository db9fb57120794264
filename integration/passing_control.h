#pragma once

#include <vector>

#include "inject/remote_control.h"

namespace heapattach {

// Passes every call on to the real control. Tests override some of them.
class PassingControl : public RemoteControl {
 public:
  explicit PassingControl(RemoteControl& real) : real_(real) {}

  Result<RawRegisters> registers(pid_t tid) override { return real_.registers(tid); }
  Result<void> set_registers(pid_t tid, const RawRegisters& values) override {
    return real_.set_registers(tid, values);
  }
  Result<std::uint64_t> signal_mask(pid_t tid) override { return real_.signal_mask(tid); }
  Result<void> set_signal_mask(pid_t tid, std::uint64_t mask) override {
    return real_.set_signal_mask(tid, mask);
  }
  Result<RseqConfiguration> rseq(pid_t tid) override { return real_.rseq(tid); }
  Result<CallDispatch> call_dispatch(pid_t tid) override { return real_.call_dispatch(tid); }
  Result<std::vector<SeccompFilter>> filters(pid_t tid) override { return real_.filters(tid); }
  Result<std::vector<std::byte>> extended_state(pid_t tid) override {
    return real_.extended_state(tid);
  }
  Result<bool> has_wide_vectors(pid_t tid) override { return real_.has_wide_vectors(tid); }
  Result<void> set_extended_state(pid_t tid, std::span<const std::byte> values) override {
    return real_.set_extended_state(tid, values);
  }
  Result<SignalOrigin> signal_origin(pid_t tid) override { return real_.signal_origin(tid); }
  [[nodiscard]] const MemoryReader& memory() const override { return real_.memory(); }
  Result<void> write(pid_t tid, RemoteAddr at, std::span<const std::byte> bytes) override {
    return real_.write(tid, at, bytes);
  }
  Result<void> run_to_call(pid_t tid, int signal) override {
    return real_.run_to_call(tid, signal);
  }
  Result<void> run_on(pid_t tid, int signal) override { return real_.run_on(tid, signal); }
  Result<void> interrupt(pid_t tid) override { return real_.interrupt(tid); }
  Result<RemoteStop> wait(pid_t tid, std::chrono::steady_clock::time_point deadline) override {
    return real_.wait(tid, deadline);
  }
  Result<void> offer_to_oom_killer(pid_t pid) override { return real_.offer_to_oom_killer(pid); }
  Result<void> detach(pid_t tid) override { return real_.detach(tid); }
  void kill(pid_t pid) noexcept override { real_.kill(pid); }

 private:
  RemoteControl& real_;
};

}  // namespace heapattach
