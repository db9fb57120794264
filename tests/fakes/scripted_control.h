#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sys/syscall.h>

#include "inject/arch/stub.h"
#include "inject/remote_control.h"
#include "tests/fakes/fake_memory.h"

namespace heapattach {

// One stopped thread that can be borrowed. Plays the kernel's part while the thread runs the stub,
// fails at the chosen step, and records all calls in order.
class ScriptedControl final : public RemoteControl {
 public:
  using Kind = RemoteStop::Kind;

  static constexpr RemoteAddr kStub{0x401000};
  static constexpr pid_t kChild = 99;

  FakeMemory space;
  RawRegisters now{};
  std::uint64_t mask = 0;
  std::vector<std::byte> extended = std::vector<std::byte>(832, std::byte{7});
  SignalOrigin origin;
  int fail_at = 0;  // the number of the step that fails; 0: none
  std::int64_t call_gives = kChild;
  std::vector<RemoteStop> before_call;  // stops of the thread before it makes the call
  // Replaces the kernel's part: what the thread does at each wait, and the stop that ends the wait.
  std::vector<std::function<RemoteStop(ScriptedControl&)>> script;
  // A record of the calls:
  std::vector<std::string> log;
  int steps = 0;
  bool is_detached = false;
  bool is_child_killed = false;
  std::vector<int> signals;  // the signals that were passed on

  ScriptedControl() { space.map_zero(kStub, 4096); }

  // Whether the padding is unchanged.
  [[nodiscard]] bool is_padding_zero() const {
    std::vector<std::byte> there(Stub::size_bytes());
    if (!space.read(kStub, there)) return false;
    return std::all_of(there.begin(), there.end(), [](std::byte b) { return b == std::byte{0}; });
  }
  // Whether the detached thread returns by itself: it is in the stub, and the stub is in memory.
  [[nodiscard]] bool finds_way_back() const {
    return is_detached && !is_padding_zero() && now.rip - kStub.value < Stub::size_bytes();
  }

  Result<RawRegisters> registers(pid_t) override {
    HA_TRY(step("registers"));
    return now;
  }
  Result<void> set_registers(pid_t, const RawRegisters& values) override {
    HA_TRY(step("set registers"));
    now = values;
    return {};
  }
  Result<std::uint64_t> signal_mask(pid_t) override {
    HA_TRY(step("mask"));
    return mask;
  }
  Result<void> set_signal_mask(pid_t, std::uint64_t value) override {
    HA_TRY(step("set mask"));
    mask = value;
    return {};
  }
  Result<RseqConfiguration> rseq(pid_t) override { return RseqConfiguration{}; }
  Result<CallDispatch> call_dispatch(pid_t) override { return CallDispatch::Unknown; }
  Result<std::vector<SeccompFilter>> filters(pid_t) override {
    return std::vector<SeccompFilter>();
  }
  Result<bool> has_wide_vectors(pid_t) override { return false; }
  Result<std::vector<std::byte>> extended_state(pid_t) override {
    HA_TRY(step("extended state"));
    return extended;
  }
  Result<void> set_extended_state(pid_t, std::span<const std::byte> values) override {
    HA_TRY(step("set extended state"));
    extended.assign(values.begin(), values.end());
    return {};
  }
  Result<SignalOrigin> signal_origin(pid_t) override { return origin; }
  [[nodiscard]] const MemoryReader& memory() const override { return space; }
  Result<void> write(pid_t, RemoteAddr at, std::span<const std::byte> bytes) override {
    HA_TRY(step("write"));
    space.put_bytes(at, bytes);
    return {};
  }
  Result<void> run_to_call(pid_t, int signal) override {
    HA_TRY(step("run to call"));
    if (signal != 0) signals.push_back(signal);
    return {};
  }
  Result<void> run_on(pid_t, int) override { return step("run on"); }
  Result<void> interrupt(pid_t) override { return step("interrupt"); }
  Result<RemoteStop> wait(pid_t tid, std::chrono::steady_clock::time_point) override {
    HA_TRY(step("wait"));
    if (tid == kChild) return RemoteStop{.kind = Kind::Stopped};
    if (!script.empty()) {
      const auto next = script.front();
      script.erase(script.begin());
      return next(*this);
    }
    if (!before_call.empty()) {
      const RemoteStop stop = before_call.front();
      before_call.erase(before_call.begin());
      return stop;
    }
    switch (++stage_) {
      case 1: now.orig_rax = now.rax; return RemoteStop{.kind = Kind::SystemCall};
      case 2: break;
      default:
        now.rax = static_cast<std::uint64_t>(call_gives);
        now.rip += 2;
        return RemoteStop{.kind = Kind::Stopped};
    }
    if (call_gives < 0) return RemoteStop{.kind = Kind::SystemCall};
    return RemoteStop{.kind = Kind::Born, .signal = 0, .other = kChild};
  }
  Result<void> offer_to_oom_killer(pid_t) override { return step("offer"); }
  Result<void> detach(pid_t) override {
    is_detached = true;
    return {};
  }
  void kill(pid_t) noexcept override { is_child_killed = true; }

 private:
  Result<void> step(const char* what) {
    log.emplace_back(what);
    if (++steps == fail_at) return Error{ErrorKind::Os, "it was set to fail"};
    return {};
  }

  int stage_ = 0;
};

}  // namespace heapattach
