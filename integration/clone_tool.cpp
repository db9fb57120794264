// The clone as a separate process, for the tests that kill it:
//   clone_tool PID [ROUNDS [DIE_AT [TID]]]
// makes ROUNDS clones of PID (0: clones for ever) and reads some memory of each. With DIE_AT, it
// kills itself before that step (1, 2, …) of the first round. Each use of RemoteControl is a step,
// and so is each stage of a clone's life. TID is the thread to borrow. It prints "began", a line
// for each clone or the error, and at the end "steps=N".

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

#include "attach/base/interrupt.h"
#include "attach/memory/live_memory.h"
#include "inject/clone.h"
#include "inject/ptrace_control.h"
#include "integration/freezing.h"

namespace heapattach {

namespace {

// Counts the operations on the target, and kills its own process at the chosen step.
class Dying final : public RemoteControl {
 public:
  Dying(RemoteControl& real, long die_at) : real_(real), die_at_(die_at) {}

  void step() {
    if (++steps_ != die_at_) return;
    ::kill(::getpid(), SIGKILL);
    for (;;) ::pause();
  }
  [[nodiscard]] long steps() const { return steps_; }

  Result<RawRegisters> registers(pid_t tid) override { return step(), real_.registers(tid); }
  Result<void> set_registers(pid_t tid, const RawRegisters& values) override {
    return step(), real_.set_registers(tid, values);
  }
  Result<std::uint64_t> signal_mask(pid_t tid) override { return step(), real_.signal_mask(tid); }
  Result<void> set_signal_mask(pid_t tid, std::uint64_t mask) override {
    return step(), real_.set_signal_mask(tid, mask);
  }
  Result<RseqConfiguration> rseq(pid_t tid) override { return step(), real_.rseq(tid); }
  Result<CallDispatch> call_dispatch(pid_t tid) override {
    return step(), real_.call_dispatch(tid);
  }
  Result<std::vector<SeccompFilter>> filters(pid_t tid) override {
    return step(), real_.filters(tid);
  }
  Result<std::vector<std::byte>> extended_state(pid_t tid) override {
    return step(), real_.extended_state(tid);
  }
  Result<bool> has_wide_vectors(pid_t tid) override { return step(), real_.has_wide_vectors(tid); }
  Result<void> set_extended_state(pid_t tid, std::span<const std::byte> values) override {
    return step(), real_.set_extended_state(tid, values);
  }
  Result<SignalOrigin> signal_origin(pid_t tid) override {
    return step(), real_.signal_origin(tid);
  }
  [[nodiscard]] const MemoryReader& memory() const override { return real_.memory(); }
  Result<void> write(pid_t tid, RemoteAddr at, std::span<const std::byte> bytes) override {
    return step(), real_.write(tid, at, bytes);
  }
  Result<void> run_to_call(pid_t tid, int signal) override {
    return step(), real_.run_to_call(tid, signal);
  }
  Result<void> run_on(pid_t tid, int signal) override { return step(), real_.run_on(tid, signal); }
  Result<void> interrupt(pid_t tid) override { return step(), real_.interrupt(tid); }
  Result<RemoteStop> wait(pid_t tid, std::chrono::steady_clock::time_point deadline) override {
    step();
    auto stop = real_.wait(tid, deadline);
    step();
    return stop;
  }
  Result<void> offer_to_oom_killer(pid_t pid) override {
    return step(), real_.offer_to_oom_killer(pid);
  }
  Result<void> detach(pid_t tid) override { return step(), real_.detach(tid); }
  void kill(pid_t pid) noexcept override { real_.kill(pid); }

 private:
  RemoteControl& real_;
  long die_at_;
  long steps_ = 0;
};

// Reads the first bytes of each readable mapping, which proves that the clone has them.
Result<std::size_t> read_some_of(const Clone& clone) {
  const MemoryMap map = HA_TRY(clone.process().maps());
  const LiveMemory memory(clone.process(), HA_TRY(LiveMemory::open_mem(clone.process())),
                          LiveMemory::By::MemFile);
  std::size_t got = 0;
  for (const Mapping& mapping : map.mappings()) {
    if (memory.read_as<std::uint64_t>(mapping.range.start)) ++got;
  }
  return got;
}

Result<void> clone_once(const Process& target, pid_t borrow, Dying& control) {
  CloneOptions options;
  // Enough even on a busy machine.
  options.freeze.budget = options.freeze.thread_deadline = std::chrono::seconds(30);
  if (borrow != 0) options.borrow = borrow;
  Clone clone = HA_TRY(Clone::make(target, options, control));
  control.step();
  const std::size_t read = HA_TRY(read_some_of(clone));
  const std::string kept = clone.process().read_link("fd/1") ? " kept" : "";
  std::printf("cloned threads=%zu mappings=%zu pause_us=%ld%s\n", clone.freeze().threads.size(),
              read, static_cast<long>(clone.freeze().pause / std::chrono::microseconds(1)),
              kept.c_str());
  std::fflush(stdout);
  control.step();
  return clone.end();
}

}  // namespace

}  // namespace heapattach

int main(int count, char** words) {
  using namespace heapattach;
  if (count < 2) return 2;
  const auto pid = static_cast<pid_t>(std::strtol(words[1], nullptr, 10));
  const long rounds = count > 2 ? std::strtol(words[2], nullptr, 10) : 1;
  const long die_at = count > 3 ? std::strtol(words[3], nullptr, 10) : 0;
  const auto borrow = static_cast<pid_t>(count > 4 ? std::strtol(words[4], nullptr, 10) : 0);
  install_interrupt_handlers();
  std::puts("began");
  std::fflush(stdout);
  long steps = 0;
  for (long round = 0; rounds == 0 || round < rounds; ++round) {
    auto done = Result<void>();
    if (const auto target = Process::open(pid); !target) {
      done = target.error();
    } else if (const auto real = PtraceControl::open(*target); !real) {
      done = real.error();
    } else {
      Dying control(**real, die_at);
      done = clone_once(*target, borrow, control);
      steps = control.steps();
    }
    if (done) continue;
    std::printf("%s\n", text_of(done.error()).c_str());
    return 1;
  }
  std::printf("steps=%ld\n", steps);
}
