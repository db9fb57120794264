#include "attach/stop/frozen_process.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "attach/base/interrupt.h"

namespace heapattach {

namespace {

using Clock = std::chrono::steady_clock;
using Phase = TracedThread::Phase;

// If no thread stops for this long, the state letters of the rest are checked.
constexpr std::chrono::milliseconds kQuiet{5};
// How long to wait for a thread in uninterruptible sleep.
constexpr std::chrono::milliseconds kUninterruptible{50};
// How long to wait, while no thread is stopped yet, for threads that only need a processor to stop.
// This costs the target nothing. A busy machine may keep low-priority threads waiting for long.
constexpr std::chrono::seconds kForProcessor{5};
// A listing that cannot be shown to be complete counts after this many passes without a new thread.
constexpr int kQuietPasses = 5;

Error gone(std::string message) {
  return {ErrorKind::Gone, std::move(message)};
}

}  // namespace

// Implements FrozenProcess::freeze. If it gives up, its members release what they hold.
class Freezer {
 public:
  Freezer(Tracer& tracer, const FreezeOptions& options) : tracer_(tracer), options_(options) {
    frozen_.begin_ = started_ = tracer.now();
  }

  Result<FrozenProcess> run() {
    for (bool is_stable = false; !is_stable;) {
      is_stable = HA_TRY(pass());
      HA_TRY(check_within_budget());
    }
    HA_TRY(describe());
    return std::move(frozen_);
  }

 private:
  struct Held {
    ThreadState before;  // as it was before we stopped it
    bool is_unstoppable = false;
  };

  Result<void> check_within_budget() {
    if (tracer_.now() - frozen_.begin_ <= options_.budget) {
      return options_.for_cleaning ? Result<void>() : check_interrupt();
    }
    const std::size_t threads = listing_.tids.size();
    const std::string who = threads == 1
                                ? "its only thread could not be stopped"
                                : fmt::format("its {} threads could not all be stopped", threads);
    return Error{ErrorKind::Timeout,
                 fmt::format("{} within {} ms{}", who, options_.budget.count(),
                             is_waiting_for_processor_
                                 ? ", because the machine is too busy to give a thread a processor"
                                 : "")};
  }

  // True if a complete listing showed no new thread.
  Result<bool> pass() {
    ++frozen_.passes_;
    listing_ = HA_TRY(tracer_.threads());
    bool can_vanish = false;
    const auto found = HA_TRY(find_new(can_vanish));
    const std::size_t held_before = frozen_.held_.size();
    // Seize all first, which does not disturb them, then stop all: the pause is short.
    for (const auto& [tid, state] : found) {
      if (auto seized = tracer_.seize(tid); seized) {
        hold(tid, state);
      } else if (seized.error().kind == ErrorKind::Gone) {
        can_vanish = true;
      } else {
        return std::move(seized).error().context(fmt::format("stopping thread {}", tid));
      }
    }
    if (held_before == 0) frozen_.begin_ = tracer_.now();
    for (std::size_t i = held_before; i < frozen_.held_.size(); ++i) {
      HA_TRY(frozen_.held_[i].interrupt());
    }
    const bool found_new = frozen_.held_.size() > held_before;
    HA_TRY(collect());
    if (held_.empty() && !found_new) return gone("none of its threads could be stopped");
    if (found_new) {
      quiet_passes_ = 0;
      return false;
    }
    return (listing_.is_whole && !can_vanish) || ++quiet_passes_ >= kQuietPasses;
  }

  // The threads of the listing that are not held and have not ended.
  //
  // A listing is complete if the number of threads is the same a moment later. That counts only if
  // no listed thread was gone by then: otherwise the one that vanished makes up for one that was
  // missed. A held thread cannot vanish, nor can a first thread that has ended.
  Result<std::vector<std::pair<pid_t, ThreadState>>> find_new(bool& can_vanish) {
    std::vector<std::pair<pid_t, ThreadState>> found;
    std::unordered_set<pid_t> ended;
    for (const pid_t tid : listing_.tids) {
      if (held_.contains(tid)) continue;
      auto state = HA_TRY(state_unless_ending(tid));
      if (state) {
        found.emplace_back(tid, *std::move(state));
      } else {
        ended.insert(tid);
        can_vanish = can_vanish || !ended_.contains(tid);
      }
    }
    ended_ = std::move(ended);
    return found;
  }

  // None if the thread has ended or is about to.
  Result<std::optional<ThreadState>> state_unless_ending(pid_t tid) {
    auto state = tracer_.state(tid);
    if (!state && state.error().kind != ErrorKind::Gone) return std::move(state).error();
    if (!state || state->is_exiting()) return std::optional<ThreadState>();
    return std::optional(std::move(state).value());
  }

  void hold(pid_t tid, ThreadState before) {
    frozen_.held_.emplace_back(tracer_, tid);  // first of all: it is traced already
    pending_.push_back(frozen_.held_.size() - 1);
    held_.insert_or_assign(tid, Held{std::move(before)});
  }

  // The pause begins with the first stop.
  void begin_later() {
    const bool is_early = tracer_.now() - started_ < kForProcessor;
    const bool is_any_still =
        std::any_of(frozen_.held_.begin(), frozen_.held_.end(),
                    [](const TracedThread& thread) { return thread.phase() == Phase::Stopped; });
    if (is_early && !is_any_still) frozen_.begin_ = tracer_.now();
  }

  // Waits until each pending thread has stopped, has ended, or cannot be waited for.
  Result<void> collect() {
    last_stop_ = tracer_.now();
    next_look_ = last_stop_ + kQuiet;
    for (int idle_rounds = 0; !pending_.empty(); ++idle_rounds) {
      if (HA_TRY(poll_pending())) {
        last_stop_ = tracer_.now();
        next_look_ = last_stop_ + kQuiet;
        idle_rounds = 0;
        continue;
      }
      if (is_waiting_for_processor_) begin_later();
      HA_TRY(check_within_budget());
      if (tracer_.now() >= next_look_) HA_TRY(look_at_letters());
      if (!pending_.empty()) tracer_.back_off(idle_rounds);
    }
    return {};
  }

  // True if anything happened.
  Result<bool> poll_pending() {
    bool happened = false;
    std::vector<std::size_t> still;
    still.reserve(pending_.size());
    const std::vector<std::size_t> polled = std::exchange(pending_, {});
    for (const std::size_t index : polled) {
      const auto event = HA_TRY(frozen_.held_[index].poll());
      happened = happened || event.has_value();
      if (event && event->kind == TraceEvent::Kind::Executed) {
        return gone("it executed another program (execve) while it was being stopped");
      }
      // The kernel has already seized the new thread for us and will stop it.
      if (event && event->kind == TraceEvent::Kind::Cloned && event->other > 0 &&
          !held_.contains(event->other)) {
        hold(event->other, ThreadState());
        auto state = HA_TRY(state_unless_ending(event->other));
        if (state) held_[event->other].before = *std::move(state);
      }
      const TracedThread& thread = frozen_.held_[index];  // hold() may have moved them all
      if (thread.phase() == Phase::Running) still.push_back(index);
      // Its number may be given to a new thread at once.
      if (thread.phase() == Phase::Ended) held_.erase(thread.tid());
    }
    pending_.insert(pending_.end(), still.begin(), still.end());
    return happened;
  }

  // Called when nothing has happened for a while: finds out why.
  Result<void> look_at_letters() {
    const auto quiet = tracer_.now() - last_stop_;
    next_look_ = tracer_.now() + kQuiet;
    std::vector<std::size_t> still;
    is_waiting_for_processor_ = !pending_.empty();
    for (const std::size_t index : pending_) {
      TracedThread& thread = frozen_.held_[index];
      const auto state = HA_TRY(state_unless_ending(thread.tid()));
      if (!state) {
        // poll reports its end, except for the first thread while others live. It stays in held_
        // because listings go on showing it.
        thread.mark_ended();
      } else if (state->state == 'D' && quiet >= kUninterruptible) {
        held_[thread.tid()].is_unstoppable = true;
        held_[thread.tid()].before.state = 'D';
      } else if (state->state == 'R') {
        still.push_back(index);  // stops as soon as it gets a processor
        continue;
      } else if (quiet >= options_.thread_deadline) {
        return Error{
            ErrorKind::Timeout,
            fmt::format("thread {} ({}), state {}, did not stop within {} ms", thread.tid(),
                        state->name, state->state, options_.thread_deadline.count())};
      } else {
        still.push_back(index);
      }
      is_waiting_for_processor_ = false;
    }
    pending_ = std::move(still);
    return {};
  }

  Result<void> describe() {
    // Also releases a traced clone that is not a thread of this process (clone without
    // CLONE_THREAD).
    const std::unordered_set<pid_t> listed(listing_.tids.begin(), listing_.tids.end());
    std::erase_if(frozen_.held_, [&listed](const TracedThread& thread) {
      return thread.phase() == Phase::Ended || !listed.contains(thread.tid());
    });
    frozen_.threads_.reserve(frozen_.held_.size());
    for (TracedThread& thread : frozen_.held_) {
      const Held& held = held_[thread.tid()];
      FrozenThread seen{.tid = thread.tid(),
                        .name = held.before.name,
                        .state = held.before.state,
                        .registers = std::nullopt,
                        .blocked_stack_pointer = std::nullopt};
      if (held.is_unstoppable) {
        seen.blocked_stack_pointer = tracer_.blocked_stack_pointer(thread.tid());
      } else {
        auto raw = thread.registers(options_.rewind);
        if (!raw) {
          return std::move(raw).error().context(
              fmt::format("reading the registers of thread {}", thread.tid()));
        }
        seen.registers = registers_of(*raw);
        if (options_.with_vector_registers) {
          seen.vector_registers = tracer_.vector_registers(thread.tid());
        }
      }
      frozen_.threads_.push_back(std::move(seen));
    }
    if (frozen_.threads_.empty()) return gone("all its threads ended while being stopped");
    return {};
  }

  Tracer& tracer_;
  const FreezeOptions& options_;
  FrozenProcess frozen_;
  std::unordered_map<pid_t, Held> held_;  // of all that are held and have not been reaped
  std::vector<std::size_t> pending_;      // indices of frozen_.held_
  ThreadListing listing_;
  std::unordered_set<pid_t> ended_;  // seen in the last listing but never held
  int quiet_passes_ = 0;
  bool is_waiting_for_processor_ = false;  // and for nothing else
  Clock::time_point started_;
  Clock::time_point last_stop_;
  Clock::time_point next_look_;
};

Result<FrozenProcess> FrozenProcess::freeze(Tracer& tracer, const FreezeOptions& options) {
  return Freezer(tracer, options).run();
}

FrozenProcess::Thaw FrozenProcess::thaw() noexcept {
  Thaw thaw;
  for (TracedThread& thread : held_) {
    switch (thread.release()) {
      case TracedThread::Release::Rewound: ++thaw.rewound; break;
      case TracedThread::Release::LeftBehind: ++thaw.left_behind; break;
      case TracedThread::Release::Detached:
      case TracedThread::Release::Nothing: break;
    }
  }
  held_.clear();
  return thaw;
}

}  // namespace heapattach
