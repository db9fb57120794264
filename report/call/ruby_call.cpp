#include "report/call/ruby_call.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/types.h>

#include "attach/process/blocked_call.h"
#include "attach/process/process.h"
#include "inject/clone.h"
#include "inject/clone_call.h"
#include "report/call/lock_watch.h"
#include "report/call/pipe_drain.h"
#include "report/text/human_bytes.h"
#include "report/text/terminal_text.h"
#include "symbols/ruby/heap_pages.h"
#include "symbols/ruby/lock_queue.h"

namespace heapattach {

namespace {

// Checks whether anything in a process moves. If nothing does, a new copy would be like the one
// before.
class Standstill {
 public:
  explicit Standstill(const Process& process) : process_(process) { static_cast<void>(look()); }

  // Returns whether every thread is blocked in a system call at the same place as in the last
  // check. A thread that has gone round a loop in between and returned to that place looks the
  // same.
  bool look();

 private:
  // A thread's stack pointer and instruction pointer; none if it runs or cannot be seen.
  using Place = std::optional<std::pair<std::uint64_t, std::uint64_t>>;

  const Process& process_;
  std::map<pid_t, Place> places_;
};

bool Standstill::look() {
  std::map<pid_t, Place> places;
  const auto threads = process_.list_threads();
  if (threads) {
    for (const pid_t tid : threads->tids) {
      const auto text = process_.read_file(fmt::format("task/{}/syscall", tid));
      const auto call = text ? parse_blocked_call(*text) : std::nullopt;
      places[tid] =
          call ? Place(std::pair(call->stack_pointer.value, call->instruction_pointer.value))
               : std::nullopt;
    }
  }
  const bool all_wait = std::all_of(places.begin(), places.end(),
                                    [](const auto& one) { return one.second.has_value(); });
  const bool is_same = !places.empty() && all_wait && places == places_;
  places_ = std::move(places);
  return is_same;
}

using Clock = std::chrono::steady_clock;
using End = CallOutcome::End;

// How long to wait for an answer that comes at once or never.
constexpr std::chrono::seconds kForQuestion{2};
// The time between attempts. It should not be in step with anything that the target does.
constexpr std::chrono::milliseconds kBetween{7};
constexpr std::chrono::milliseconds kMostBetween{500};
// After this many exceptions, the code is taken to be at fault. A first exception may also have
// been pending in the thread that was copied.
constexpr unsigned kMostExceptions = 3;
// If nothing in a process has moved for this long, and in this many rounds over its threads,
// nothing will.
constexpr std::chrono::seconds kStill{1};
constexpr unsigned kStillRounds = 3;
// Another way to get the result is taken once copies were tried for this long, and this many of
// them failed, or this many rounds over the threads are over.
constexpr std::chrono::milliseconds kLongEnough{1200};
constexpr unsigned kEnoughFailures = 3;
constexpr unsigned kEnoughRounds = 4;
// The time to wait for the end of a collection before a copy is made, and between looks at it.
constexpr std::chrono::milliseconds kForCollection{40};
constexpr std::chrono::microseconds kBetweenLooks{200};
constexpr std::string_view kIsCollecting = "a collection was running";
constexpr std::string_view kNoRubyThread = "a thread does not belong to Ruby";
constexpr std::string_view kLockIsHeld = "another thread holds Ruby's lock";
constexpr std::string_view kWaited = "the copy waited for a lock that another thread held";
// Time reserved for letting go of the last copy.
constexpr std::chrono::milliseconds kForEnd{500};

std::string_view reason_of(const CallOutcome& outcome) {
  switch (outcome.end) {
    case End::Crashed: return "the copy crashed";
    case End::TimedOut: return "the copy did not answer";
    case End::Exited:
    case End::Executed: return "the copy ended itself";
    case End::Killed: return "the copy was killed";
    case End::Returned: break;
  }
  return "the copy did not write a complete result";
}

// Running threads first, because one of them has the lock if any has; then the first thread.
Result<std::vector<pid_t>> threads_in_order(const Process& process) {
  const ThreadListing listing = HA_TRY(process.list_threads());
  std::vector<std::pair<int, pid_t>> ranked;
  for (const pid_t tid : listing.tids) {
    const auto state = process.thread_state(tid);
    if (!state || state->is_exiting()) continue;
    const int rank = state->state == 'R'    ? 0
                     : state->state == 'D'  ? 1
                     : tid == process.pid() ? 2
                                            : 3;
    ranked.emplace_back(rank, tid);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<pid_t> threads(ranked.size());
  std::transform(ranked.begin(), ranked.end(), threads.begin(),
                 [](const auto& one) { return one.second; });
  return threads;
}

// One copy, in which the code runs on one thread or not at all.
class Attempt {
 public:
  Attempt(const Process& copy,
          const ruby::Interpreter& ruby,
          const RubyCode& code,
          const RubyReceiver& receiver,
          Clock::time_point until,
          bool lock_is_held,
          bool has_other_threads)
      : copy_(copy),
        ruby_(ruby),
        code_(code),
        receiver_(receiver),
        until_(until),
        lock_is_held_(lock_is_held),
        has_other_threads_(has_other_threads) {}

  // Returns whether the result is complete. If not, reason() says why.
  Result<bool> run(CloneCalls& calls, RubyAnswer& answer) {
    const auto is_ruby = HA_TRY(ask(calls, ruby_.is_ruby_thread));
    if (!is_ruby) return false;
    if (*is_ruby == 0) return fail(kNoRubyThread);
    const auto is_collecting = HA_TRY(ask(calls, ruby_.is_collecting));
    if (!is_collecting) return false;
    if (*is_collecting != 0) return fail(kIsCollecting);
    const auto has_lock = HA_TRY(ask(calls, ruby_.has_lock));
    if (!has_lock) return false;
    if (*has_lock == 0) {
      if (lock_is_held_) return fail(kLockIsHeld);
      // If the lock cannot be taken, this does not return.
      const std::array<CallArgument, 2> question{ruby_.is_collecting.value, std::uint64_t{0}};
      if (!HA_TRY(ask(calls, ruby_.call_with_lock, question))) {
        lock_is_held_ = true;
        return false;
      }
    }
    return evaluate(calls, *has_lock != 0, answer);
  }

  [[nodiscard]] const std::string& reason() const { return reason_; }
  // How long the code ran until its time was over; zero if the attempt failed for another reason.
  [[nodiscard]] std::chrono::seconds unfinished() const { return unfinished_; }
  // How many bytes the code had written when its time was over.
  [[nodiscard]] std::uint64_t written() const { return written_; }
  // Whether this thread would wait for Ruby's lock.
  [[nodiscard]] bool lock_is_held() const { return lock_is_held_; }

 private:
  bool fail(std::string_view reason) {
    reason_ = reason;
    return false;
  }

  // Half of the time that is left, so that there is time for another attempt. A copy that keeps
  // writing gets all of the time, because another one would be no faster.
  [[nodiscard]] Clock::duration patience() const {
    return std::max<Clock::duration>((until_ - Clock::now()) / 2, kForQuestion);
  }

  // The result of a function that returns int. None if it did not return; reason() then says why.
  Result<std::optional<std::int32_t>> ask(CloneCalls& calls,
                                          RemoteAddr function,
                                          std::span<const CallArgument> arguments = {}) {
    const LockWatch watch(copy_);
    const auto outcome =
        HA_TRY(calls.call(function, arguments, std::min(until_, Clock::now() + kForQuestion)));
    if (watch.has_ended_it()) {
      fail(kWaited);
      return std::optional<std::int32_t>();
    }
    if (outcome.end == End::Returned) {
      return std::optional(static_cast<std::int32_t>(outcome.value));
    }
    const bool may_wait = outcome.end == End::TimedOut && has_other_threads_;
    fail(may_wait ? "the copy did not answer: another thread held a lock" : reason_of(outcome));
    return std::optional<std::int32_t>();
  }

  // How the code ended in the copy.
  struct Evaluated {
    CallOutcome outcome;
    bool has_waited = false;  // for Ruby's lock, which nobody in the copy releases
    bool is_stuck = false;    // the copy wrote nothing for too long, and was killed
  };

  Result<Evaluated> call_code(CloneCalls& calls, bool has_lock, Clock::time_point begin) {
    ClonePipe pipe = HA_TRY(calls.open_pipe());
    const std::string code = code_(pipe.descriptor);
    HA_TRY(receiver_.begin());
    // The user's code writes only its result, at the end.
    const bool writes_all_along = !receiver_.takes_end;
    std::atomic<bool> is_stuck = false;
    std::optional<PipeDrain::Stall> stall;
    if (writes_all_along) {
      stall = {patience(), [&] {
                 is_stuck = true;
                 ::kill(copy_.pid(), SIGKILL);
               }};
    }
    PipeDrain drain(std::move(pipe.reading_end), receiver_.take, std::move(stall));
    // The user's code is not watched: it may sleep, which looks like waiting for a lock.
    std::optional<LockWatch> watch;
    if (writes_all_along) watch.emplace(copy_);
    std::vector<CallArgument> arguments;
    if (!has_lock) arguments.emplace_back(ruby_.eval_string.value);
    arguments.emplace_back(code);
    auto called = calls.call(has_lock ? ruby_.eval_string : ruby_.call_with_lock, arguments,
                             writes_all_along ? until_ : begin + patience());
    auto drained = drain.finish();
    written_ = drain.bytes();
    if (!called || !drained) {
      static_cast<void>(receiver_.end());
      return called ? std::move(drained).error() : std::move(called).error();
    }
    return Evaluated{std::move(*called), watch && watch->has_ended_it(), is_stuck};
  }

  Result<bool> evaluate(CloneCalls& calls, bool has_lock, RubyAnswer& answer) {
    const auto begin = Clock::now();
    const auto [outcome, has_waited, is_stuck] = HA_TRY(call_code(calls, has_lock, begin));
    const bool is_whole = receiver_.end();
    answer.output = HA_TRY(calls.output(1, 0));
    answer.errors = HA_TRY(calls.output(2, 0));
    if (has_waited) return fail(kWaited);
    if (outcome.end == End::Returned && is_whole) return true;
    if (outcome.end == End::Returned && !answer.errors.empty()) return raised(answer);
    if (outcome.end != End::Returned && receiver_.takes_end && receiver_.takes_end(outcome)) {
      answer.has_ended_copy = true;
      return true;
    }
    return is_stuck || outcome.end == End::TimedOut ? is_unfinished(begin)
                                                    : fail(reason_of(outcome));
  }

  bool is_unfinished(Clock::time_point begin) {
    unfinished_ = std::chrono::ceil<std::chrono::seconds>(Clock::now() - begin);
    return fail(fmt::format("the copy did not finish in {} s", unfinished_.count()));
  }

  // Notes the exception that was written to standard error.
  bool raised(RubyAnswer& answer) {
    const bool is_final = receiver_.is_final && receiver_.is_final(answer.errors);
    answer.exceptions = is_final ? kMostExceptions : answer.exceptions + 1;
    return fail(terminal_text(answer.errors.substr(0, answer.errors.find('\n'))));
  }

  const Process& copy_;
  const ruby::Interpreter& ruby_;
  const RubyCode& code_;
  const RubyReceiver& receiver_;
  Clock::time_point until_;
  bool lock_is_held_;
  bool has_other_threads_;
  std::string reason_;
  std::chrono::seconds unfinished_{0};
  std::uint64_t written_ = 0;
};

// All attempts.
class Runs {
 public:
  Runs(const CallOptions& options,
       const RubyProcess& ruby,
       const RubyCode& code,
       const RubyReceiver& receiver)
      : options_(options),
        process_(ruby.process),
        ruby_(ruby),
        code_(code),
        receiver_(receiver),
        standstill_(process_) {}

  Result<RubyAnswer> run() && {
    const auto until = options_.request.deadline.at - kForEnd;
    auto pause = kBetween;
    do {
      if (HA_TRY(try_all(until))) return std::move(answer_);
      if (is_hopeless()) return hopeless();
      if (stands_still()) return too_late(no_thread_moves());
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, kMostBetween);
      const auto checked = options_.request.deadline.check("running Ruby code");
      if (!checked) return too_late(checked.error());
    } while (Clock::now() < until);
    return too_late(none_in_time());
  }

 private:
  // Whether one of the process's threads has answered.
  Result<bool> try_all(Clock::time_point until) {
    const auto threads =
        options_.thread ? std::vector<pid_t>{*options_.thread} : HA_TRY(threads_in_order(process_));
    has_other_threads_ = threads.size() > 1 || options_.thread;
    for (const pid_t tid : threads) {
      if (foreign_threads_.contains(tid)) continue;
      if (HA_TRY(try_with(tid, until))) return true;
      if (Clock::now() >= until) break;
      if (is_hopeless()) return hopeless();
      if (answer_.exceptions >= kMostExceptions) {
        return Error{ErrorKind::Impossible,
                     fmt::format("process {}: {}", options_.request.pid, reasons())};
      }
    }
    ++rounds_;
    return false;
  }

  // Replaces the error with a better one if a copy was still at work: it had too little time.
  [[nodiscard]] Error too_late(Error error) const {
    const bool is_interrupted = error.kind == ErrorKind::Interrupted;
    return unfinished_.count() > 0 && !is_interrupted ? too_little_time() : std::move(error);
  }

  [[nodiscard]] Error none_in_time() const {
    return Error{ErrorKind::Timeout, fmt::format("no copy of process {} could run Ruby code: {}",
                                                 options_.request.pid, reasons())}
        .advise("a longer --timeout, or --thread TID with a thread that is running Ruby code");
  }

  [[nodiscard]] Error no_thread_moves() const {
    return Error{ErrorKind::Impossible,
                 fmt::format("no copy of process {} could run Ruby code, and none of the "
                             "process's threads moves: {}",
                             options_.request.pid, reasons())}
        .advise("a longer --timeout");
  }

  // Advises ten times the time that a copy had. The first copy had at least half of all time, so
  // this is certainly more.
  [[nodiscard]] Error too_little_time() const {
    const auto minutes = std::chrono::ceil<std::chrono::minutes>(10 * unfinished_);
    const std::string written =
        written_ == 0 ? "" : fmt::format("; it had written {}", human_bytes(written_));
    return Error{ErrorKind::Timeout,
                 fmt::format("the copy of process {} did not finish in {} s{}",
                             options_.request.pid, unfinished_.count(), written)}
        .advise(fmt::format("--timeout {}", std::chrono::seconds(minutes).count()));
  }

  [[nodiscard]] Error hopeless() const {
    return Error{ErrorKind::Impossible, fmt::format("no copy of process {} could run Ruby code: {}",
                                                    options_.request.pid, reasons())};
  }

  // Whether to stop making copies, if there is another way to get the result.
  [[nodiscard]] bool is_hopeless() const {
    if (!receiver_.has_alternative || unfinished_.count() > 0) return false;
    const bool have_many_failed = failures_ >= kEnoughFailures || rounds_ >= kEnoughRounds;
    return have_many_failed && Clock::now() - begin_ >= kLongEnough;
  }

  // Waits for the end of a collection, but not for long. Returns whether one is still running, so
  // that a copy would be useless.
  [[nodiscard]] bool is_collecting() const {
    if (ruby_.machine == nullptr) return false;
    const auto until = Clock::now() + kForCollection;
    while (ruby::is_collecting(*ruby_.machine, ruby_.memory).value_or(false)) {
      if (Clock::now() >= until) return true;
      std::this_thread::sleep_for(kBetweenLooks);
    }
    return false;
  }

  // Empties the queues for Ruby's lock in the copy: the threads in them do not exist there, so none
  // of them could take the lock and return it.
  Result<void> empty_queues(CloneCalls& calls) const {
    if (ruby_.machine == nullptr) return {};
    for (const auto& queue : ruby::find_lock_queues(*ruby_.machine, calls.memory())) {
      HA_TRY(calls.write(queue.head, ruby::empty_queue(queue.head)));
      options_.request.note(
          fmt::format("in the copy, {} threads no longer wait for Ruby's lock", queue.count));
    }
    return {};
  }

  // Called after each round over the threads.
  bool stands_still() {
    const auto now = Clock::now();
    if (!standstill_.look()) {
      still_rounds_ = 0;
      lock_is_held_ = false;
      return false;
    }
    if (still_rounds_++ == 0) still_since_ = now;
    return still_rounds_ >= kStillRounds && now - still_since_ >= kStill;
  }

  Result<bool> try_with(pid_t tid, Clock::time_point until) {
    if (is_collecting()) {
      ++failures_;
      see(kIsCollecting);
      return false;
    }
    CloneOptions how;
    how.freeze = options_.request.freeze_options();
    how.borrow = tid;
    auto clone = Clone::make(process_, how);
    if (!clone) {
      // The thread may have ended, or must not be borrowed now.
      const ErrorKind kind = clone.error().kind;
      if (kind != ErrorKind::Impossible && kind != ErrorKind::Denied) {
        return std::move(clone).error();
      }
      see(clone.error().message());
      return false;
    }
    ++answer_.attempts;
    answer_.pause = clone->freeze().pause;
    answer_.thread = tid;
    Attempt attempt(clone->process(), ruby_.ruby, code_, receiver_, until, lock_is_held_,
                    has_other_threads_);
    bool is_done = false;
    {
      CloneCalls calls = HA_TRY(CloneCalls::prepare(clone->process(), options_.allowed_calls));
      HA_TRY(empty_queues(calls));
      is_done = HA_TRY(attempt.run(calls, answer_));
    }
    if (attempt.unfinished() > unfinished_) {
      unfinished_ = attempt.unfinished();
      written_ = attempt.written();
    }
    if (attempt.reason() == kNoRubyThread) {
      foreign_threads_.insert(tid);
    } else if (!is_done && attempt.reason() != kLockIsHeld) {
      ++failures_;
    }
    if (!is_done) see(clone->given_up().value_or(attempt.reason()));
    if (const auto ended = clone->end(); !ended) {
      options_.request.note(ended.error().message());
    }
    // If nothing moves, the lock will have the same holder in the next copy.
    if (!is_done && attempt.lock_is_held()) lock_is_held_ = standstill_.look();
    answer_.is_done = is_done;
    return is_done;
  }

  void see(std::string_view reason) {
    ++reasons_[std::string(reason)];
    options_.request.note(fmt::format("{}: another copy", reason));
  }
  [[nodiscard]] std::string reasons() const {
    std::vector<std::string> all;
    for (const auto& [reason, times] : reasons_) {
      all.push_back(times == 1 ? reason : fmt::format("{} ({} times)", reason, times));
    }
    return all.empty() ? "there was no time to try" : fmt::format("{}", fmt::join(all, "; "));
  }

  const CallOptions& options_;
  const Process& process_;
  const RubyProcess& ruby_;
  const RubyCode& code_;
  const RubyReceiver& receiver_;
  RubyAnswer answer_;
  Standstill standstill_;
  Clock::time_point still_since_;
  unsigned still_rounds_ = 0;
  Clock::time_point begin_ = Clock::now();
  unsigned rounds_ = 0;
  unsigned failures_ = 0;
  std::set<pid_t> foreign_threads_;  // threads that do not belong to Ruby
  bool lock_is_held_ = false;        // by a thread that stands still
  bool has_other_threads_ = true;
  std::chrono::seconds unfinished_{0};  // the longest time after which a copy was given up
  std::uint64_t written_ = 0;           // the bytes that this copy had written
  std::map<std::string, unsigned> reasons_;
};

}  // namespace

Result<RubyAnswer> run_ruby(const CallOptions& options,
                            const RubyProcess& process,
                            const RubyCode& code,
                            const RubyReceiver& receiver) {
  return Runs(options, process, code, receiver).run();
}

}  // namespace heapattach
