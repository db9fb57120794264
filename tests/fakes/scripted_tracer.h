#pragma once

#include <cerrno>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "attach/stop/tracer.h"

namespace heapattach {

// Plays back listings, events and failures of threads. Records which threads are still traced, and
// which signals and registers were restored. A thread without a script stops on request. Time
// passes only while the freeze rests, and with each listing.
class ScriptedTracer final : public Tracer {
 public:
  using Kind = TraceEvent::Kind;

  struct Thread {
    char state = 'S';
    std::optional<Error> seize_failure;
    std::deque<TraceEvent> events;  // reported before it stops, one per poll
    bool ends_when_interrupted = false;
    bool stops = true;                         // false: the thread never stops
    std::chrono::milliseconds stops_after{0};  // it stops once this much time has passed in all
    bool is_reborn = false;                    // after its end, a new thread gets its number
    std::optional<char> state_when_interrupted;
    bool is_after_syscall = true;
    std::optional<Error> register_failure;
    RawRegisters registers{};
    std::uint64_t deliverable = 0;
    // A record of what was done to the thread:
    bool is_traced = false;
    bool is_still = false;
    bool is_interrupted = false;
    bool has_ended = false;
    std::vector<int> signals;  // delivered by resume or detach
    int interrupts = 0;
    std::optional<RawRegisters> registers_set;
  };

  std::map<pid_t, Thread> script;
  std::deque<ThreadListing> listings;  // one per call; the last one repeats
  std::optional<Error> listing_failure;
  int listings_made = 0;

  [[nodiscard]] std::set<pid_t> still_traced() const {
    std::set<pid_t> tids;
    for (const auto& [tid, thread] : script) {
      if (thread.is_traced && !thread.has_ended) tids.insert(tid);
    }
    return tids;
  }

  Result<ThreadListing> threads() override {
    ++listings_made;
    back_off(0);
    if (listing_failure && listings.empty()) return *listing_failure;
    ThreadListing listing = listings.front();
    if (listings.size() > 1 || listing_failure) listings.pop_front();
    return listing;
  }
  Result<ThreadState> state(pid_t tid) override {
    const Thread& thread = script[tid];
    if (thread.has_ended) return Error{ErrorKind::Gone, "gone", ESRCH};
    ThreadState state;
    state.name = "scripted";
    state.state = thread.state;
    return state;
  }
  Result<void> seize(pid_t tid) override {
    Thread& thread = script[tid];
    if (thread.seize_failure) return *thread.seize_failure;
    thread.is_traced = true;
    return {};
  }
  Result<void> interrupt(pid_t tid) override {
    Thread& thread = script[tid];
    ++thread.interrupts;
    thread.is_interrupted = true;
    thread.state = thread.state_when_interrupted.value_or(thread.state);
    return {};
  }
  Result<std::optional<TraceEvent>> poll(pid_t tid) override {
    Thread& thread = script[tid];
    if (thread.is_still) return std::optional<TraceEvent>();
    TraceEvent event{.kind = Kind::Stopped};
    if (!thread.events.empty()) {
      event = thread.events.front();
      thread.events.pop_front();
      thread.is_interrupted = false;  // as in the kernel: any event cancels the request
    } else if (thread.ends_when_interrupted) {
      event.kind = Kind::Ended;
    } else if (!thread.is_interrupted || !thread.stops || now_ < kBegin + thread.stops_after) {
      return std::optional<TraceEvent>();
    }
    thread.has_ended = event.kind == Kind::Ended;
    thread.is_still = !thread.has_ended;
    if (thread.has_ended) thread.is_traced = false;
    if (thread.has_ended && thread.is_reborn) thread.has_ended = false;
    if (event.other > 0) {
      script[event.other].is_traced = true;
      script[event.other].is_interrupted = true;
    }
    return std::optional(event);
  }
  void resume(pid_t tid, int signal) noexcept override { run_on(tid, signal); }
  bool detach(pid_t tid, int signal) noexcept override {
    if (!script[tid].is_still) return false;
    run_on(tid, signal);
    script[tid].is_traced = false;
    return true;
  }
  Result<RawRegisters> registers(pid_t tid) override {
    if (script[tid].register_failure) return *script[tid].register_failure;
    return script[tid].registers;
  }
  Result<void> set_registers(pid_t tid, const RawRegisters& values) override {
    script[tid].registers_set = values;
    return {};
  }
  bool is_after_syscall(pid_t tid, RemoteAddr) override { return script[tid].is_after_syscall; }
  std::uint64_t deliverable_signals(pid_t tid) override { return script[tid].deliverable; }
  std::optional<RemoteAddr> blocked_stack_pointer(pid_t) override { return RemoteAddr{0x7000}; }
  [[nodiscard]] std::chrono::steady_clock::time_point now() const override { return now_; }
  void back_off(int) override { now_ += std::chrono::milliseconds(1); }

 private:
  void run_on(pid_t tid, int signal) {
    script[tid].is_still = false;
    if (signal != 0) script[tid].signals.push_back(signal);
  }

  static constexpr std::chrono::steady_clock::time_point kBegin{std::chrono::hours(1)};
  std::chrono::steady_clock::time_point now_ = kBegin;
};

}  // namespace heapattach
