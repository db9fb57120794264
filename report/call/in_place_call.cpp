#include "report/call/in_place_call.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>

#include <fmt/format.h>

#include "attach/base/guardian.h"
#include "attach/process/start_program.h"
#include "inject/arch/stub.h"
#include "inject/choose_thread.h"
#include "inject/in_place.h"
#include "inject/padding.h"
#include "inject/ptrace_control.h"
#include "inject/release_others.h"
#include "inject/status_signals.h"
#include "report/call/call_ending.h"
#include "report/call/call_value.h"
#include "report/call/find_function.h"
#include "report/call/safe_threads.h"
#include "report/collect/opened.h"

namespace heapattach {

namespace {

using Clock = std::chrono::steady_clock;
using End = InPlaceOutcome::End;

// How long all threads are stopped at most, unless --max-pause is set. A collector aborts its
// process if one of its threads does not respond for 15 seconds.
constexpr std::chrono::milliseconds kHeld{2000};
constexpr std::chrono::seconds kToComeBack{10};
constexpr std::chrono::seconds kSearch{3};
constexpr int kShareOfSearch = 20;  // of the remaining time
constexpr std::chrono::milliseconds kBetween{20};
constexpr std::size_t kStackShown = std::size_t{256} << 10;

class InProcess {
 public:
  InProcess(const CallOptions& options,
            const Process& process,
            const Modules& modules,
            const Functions& functions,
            PtraceControl& control)
      : options_(options),
        process_(process),
        modules_(modules),
        functions_(functions),
        control_(control),
        threads_(process, modules) {}

  Result<CallReport> run() {
    const auto left = options_.request.deadline.at - Clock::now();
    const auto until = Clock::now() + std::min<Clock::duration>(kSearch, left / kShareOfSearch);
    int looks = 0;
    while (looks == 0 || Clock::now() < until) {
      HA_TRY(options_.request.deadline.check("looking for a thread at a safe point"));
      const Result<void> tried = try_once();
      if (tried && outcome_) return report();
      // On a busy machine, threads may not stop in time. That is tried again unless the call has
      // begun, so the function is never called twice.
      const bool is_late = !tried && tried.error().kind == ErrorKind::Timeout && !has_begun_;
      if (!tried && !is_late) return tried.error();
      if (!is_late) ++looks;
      options_.request.note(is_late ? tried.error().message() : threads_.objections());
      std::this_thread::sleep_for(kBetween);
    }
    return Error{
        ErrorKind::Os,
        fmt::format("no thread of process {} was at a safe point in any of {} attempts ({}); "
                    "try again, or without --in-place",
                    process_.pid(), looks, threads_.objections())};
  }

 private:
  [[nodiscard]] std::chrono::milliseconds longest_held() const {
    return options_.request.max_pause.value_or(kHeld);
  }
  [[nodiscard]] FreezeOptions freeze_options() const {
    FreezeOptions how = options_.request.freeze_options();
    how.budget = longest_held();
    return how;
  }

  // Checks all threads, and calls the function if one is suitable.
  Result<void> try_once() {
    map_ = HA_TRY(process_.maps());
    FreezeOptions looking = freeze_options();
    looking.reads_only = true;
    static_cast<void>(HA_TRY(while_frozen(process_, looking, [&](const auto& view) {
      return threads_.copy(view, options_.thread, map_, control_.memory());
    })));
    const std::vector<SafePoint> points = HA_TRY(threads_.judge(options_.request.deadline));
    return points.empty() ? Result<void>() : call_on_one_of(points);
  }

  // Freezes the process once more, and calls the function on the first thread that has not moved.
  Result<void> call_on_one_of(const std::vector<SafePoint>& points) {
    const auto stubs = find_paddings(map_, control_.memory(), in_place_bytes());
    if (stubs.empty()) {
      return Error{ErrorKind::Os,
                   fmt::format("process {} has no {} bytes of padding after its code for the "
                               "instructions of a call",
                               process_.pid(), in_place_bytes())}
          .advise("without --in-place");
    }
    const auto on_one = [&](const FrozenView& view) -> Result<void> {
      for (const SafePoint& point : points) {
        const auto stopped = std::ranges::find(view.threads, point.tid, &FrozenThread::tid);
        const bool is_known = stopped != view.threads.end() && stopped->registers;
        if (!is_known || !is_still_there(point, *stopped->registers, control_.memory())) {
          threads_.object(point.tid, "it moved on before the call could be made");
          continue;
        }
        const auto thread =
            borrow_in_place({control_, process_, map_, stubs, options_.request.rewind}, *stopped);
        if (thread) return call_on(*thread, view);
        threads_.object(point.tid, thread.error().message());
      }
      return {};
    };
    static_cast<void>(HA_TRY(while_frozen(process_, freeze_options(), on_one)));
    return {};
  }

  Result<void> call_on(const Borrowed& thread, const FrozenView& view) {
    has_begun_ = true;
    // heapattach must not be ended while a thread of the process runs the function.
    need_time(
        std::chrono::ceil<std::chrono::milliseconds>(options_.request.deadline.at - Clock::now()) +
        kToComeBack);
    const bool lets_others_run = options_.place == CallPlace::Running;
    if (lets_others_run) {
      release_others(control_, process_, view, thread.tid, options_.request.rewind);
    }
    standing_.thread = thread.tid;
    standing_.return_address = thread.stub + Stub::function_return();
    InPlaceCall call;
    call.handled_signals = status_signals(process_, "SigCgt");
    call.deadline = lets_others_run ? options_.request.deadline.at : view.deadline;
    call.is_given_up = [this] { return options_.request.deadline.is_interrupted(); };
    call.function = {functions_.called, functions_.errno_location.value_or(RemoteAddr{}), {}};
    if (functions_.is_resolver) {
      const auto resolved = HA_TRY(call_in_place(control_, thread, map_, call));
      if (resolved.end != End::Returned) {
        outcome_ = resolved;
        return {};
      }
      call.function.function = {resolved.value};
    }
    call.function.arguments = options_.call.arguments;
    outcome_ = HA_TRY(call_in_place(control_, thread, map_, call));
    if (outcome_->end == End::Returned) {
      value_ = HA_TRY(value_text(outcome_->value, options_.returns, control_.memory()));
    } else if (outcome_->where) {
      standing_.where = outcome_->where;
      stack_.resize(kStackShown);
      const auto got = control_.memory().read_some(stack_pointer(*outcome_->where), stack_);
      stack_.resize(got ? *got : 0);
    }
    return {};
  }

  Result<CallReport> report() {
    CallReport report;
    report.function = functions_.name;
    report.value = value_;
    if (outcome_->end == End::Returned) return report;
    standing_.stack = stack_;
    report.is_timeout = outcome_->end == End::LeftAlone;
    if (outcome_->end != End::Vanished) {
      report.frames = name_frames(options_, modules_, standing_, options_.request.deadline);
    }
    report.ending = fmt::format("{} {}", functions_.name, ending_text(report.frames));
    return report;
  }

  [[nodiscard]] std::string ending_text(const std::vector<std::string>& frames) const {
    constexpr std::string_view kTakenOut =
        "the thread was pulled out of it and keeps running, but the function's work stays half "
        "done, and any locks that it took are still held";
    switch (outcome_->end) {
      case End::Returned: break;
      case End::Crashed: {
        const std::string at =
            outcome_->fault.value == 0 ? std::string() : fmt::format(" at {}", outcome_->fault);
        return fmt::format(
            "crashed ({}{}) in the process itself, which did not receive the signal: {}",
            name_of_signal(outcome_->number), at, kTakenOut);
      }
      case End::Exits:
        return fmt::format("tried to end the process with exit({}), which was prevented: {}",
                           outcome_->number, kTakenOut);
      case End::Executes:
        return fmt::format(
            "tried to start another program (execve) in place of the "
            "process: {}",
            kTakenOut);
      case End::Vanished:
        return fmt::format("did not return: the process {} meanwhile",
                           outcome_->number == 0 ? "ended" : describe_end(outcome_->number));
      case End::LeftAlone: break;
    }
    const std::string lock =
        waits_for_lock(frames) ? "; it waits for a lock, which a stopped thread may hold" : "";
    return fmt::format(
        "did not return in time and cannot be undone: thread {} continues in it in the process "
        "itself, and resumes its work when it returns{}; {} bytes of padding stay in use",
        standing_.thread, lock, in_place_bytes());
  }

  const CallOptions& options_;
  const Process& process_;
  const Modules& modules_;
  const Functions& functions_;
  PtraceControl& control_;
  SafeThreads threads_;
  MemoryMap map_;
  bool has_begun_ = false;
  std::optional<InPlaceOutcome> outcome_;
  std::optional<std::string> value_;
  Standing standing_;
  std::vector<std::byte> stack_;
};

}  // namespace

Result<CallReport> call_in_process(const CallOptions& options) {
  const auto target = HA_TRY(snapshot::Opened::open(options.request));
  const Process& process = *target.process;
  const Functions functions = HA_TRY(find_functions(options, target.modules, target.map));
  HA_TRY(options.request.deadline.check("looking for the function"));
  options.request.warn(
      fmt::format("{} is about to run in process {} itself, as if it were the program's "
                  "own: what it does there cannot be undone",
                  functions.name, process.pid()));
  const auto control = HA_TRY(PtraceControl::open(process));
  return InProcess(options, process, target.modules, functions, *control).run();
}

}  // namespace heapattach
