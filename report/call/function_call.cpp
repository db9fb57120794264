#include "report/call/function_call.h"

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>

#include "inject/clone.h"
#include "inject/clone_call.h"
#include "inject/headroom.h"
#include "report/call/call_ending.h"
#include "report/call/call_value.h"
#include "report/call/find_function.h"
#include "report/call/pipe_drain.h"
#include "report/collect/opened.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using Clock = std::chrono::steady_clock;
using End = CallOutcome::End;

// Time reserved after the call, to find out how it ended.
constexpr std::chrono::seconds kForReport{3};
// Flushing either ends at once, or never, because another thread held the stream's lock.
constexpr std::chrono::milliseconds kForFlushing{2000};
// The bytes that a routine may always write.
constexpr std::uint64_t kLeastWritten = std::uint64_t{64} << 20;

std::string walls_text(const CloneWalls& walls) {
  return fmt::format(
      "the clone is closed off: {}, {}",
      !walls.rules.has_landlock ? "without Landlock, which this kernel does not have"
      : walls.may_change_files  ? "Landlock allows only the file changes that --allow-calls needs"
                                : "Landlock keeps it from changing files",
      walls.rules.shared.empty()
          ? "no memory is shared"
          : fmt::format("{} pieces of shared memory are read-only", walls.rules.shared.size()));
}

// Prefers the first thread, because interpreters and libraries expect to be called there.
Result<Clone> make_clone(const Process& process, const CallOptions& options) {
  CloneOptions how;
  how.freeze = options.request.freeze_options();
  how.borrow = options.thread.value_or(process.pid());
  auto clone = Clone::make(process, how);
  const bool is_refused = !clone && (clone.error().kind == ErrorKind::Impossible ||
                                     clone.error().kind == ErrorKind::Denied);
  if (!is_refused || options.thread) return clone;
  options.request.note(clone.error().message() + ": another thread instead");
  how.borrow.reset();
  return Clone::make(process, how);
}

// One call in one clone.
class Calling {
 public:
  // `own_bytes` is the size of the process's anonymous memory.
  Calling(const CallOptions& options,
          const Functions& functions,
          CloneCalls& calls,
          std::uint64_t own_bytes)
      : options_(options),
        functions_(functions),
        calls_(calls),
        most_written_(kLeastWritten + own_bytes * options.most_written_times) {}

  Result<CallOutcome> run() {
    // Output that the target had not written yet must not be written by the clone. Flushing it now
    // drops it: it is not part of the call's output.
    flush();
    before_ = {calls_.output_bytes(1), calls_.output_bytes(2)};
    const auto left = options_.request.deadline.at - Clock::now();
    until_ = Clock::now() + std::max<Clock::duration>(left - kForReport, left / 2);
    if (options_.patience) until_ = std::min(until_, Clock::now() + *options_.patience);
    RemoteAddr function = functions_.called;
    if (functions_.loader) {
      auto loaded = HA_TRY(load(*functions_.loader));
      if (loaded.end != End::Returned) return loaded;
      function = {loaded.value};
    }
    if (functions_.is_resolver) {
      auto resolved = HA_TRY(calls_.call(function, {}, until_));
      if (resolved.end != End::Returned) return resolved;
      function = {resolved.value};
    }
    auto outcome =
        HA_TRY(options_.take_written ? call_with_pipe(function)
                                     : calls_.call(function, options_.call.arguments, until_));
    if (outcome.end == End::Returned) flush();
    return outcome;
  }

  Result<CallReport> report(const CallOutcome& outcome) {
    CallReport report;
    report.function = loading_.empty() ? functions_.name : loading_;
    report.written = written_;
    report.output = HA_TRY(calls_.output(1, before_[0]));
    report.errors = HA_TRY(calls_.output(2, before_[1]));
    if (outcome.end != End::Returned) return report;
    report.value = HA_TRY(value_text(outcome.value, options_.returns, calls_.memory()));
    return report;
  }

 private:
  // Loads the library and returns the address of the function, or an outcome that shows how that
  // failed.
  Result<CallOutcome> load(const Loader& loader) {
    constexpr std::uint64_t kNow = 2;  // RTLD_NOW
    const std::array<CallArgument, 2> library{options_.routine_library, kNow};
    auto opened = HA_TRY(calls_.call(loader.open, library, until_));
    if (opened.end != End::Returned) {
      loading_ = "dlopen";
      return opened;
    }
    if (opened.value == 0) return loading_failed(loader);
    options_.request.note(options_.routine_library + " loaded into the clone");
    const std::array<CallArgument, 2> symbol{opened.value, functions_.name};
    auto found = HA_TRY(calls_.call(loader.symbol, symbol, until_));
    if (found.end == End::Returned && found.value == 0) return loading_failed(loader);
    return found;
  }
  Error loading_failed(const Loader& loader) {
    std::string reason = "dlerror has no message";
    const auto said = calls_.call(loader.error, {}, until_);
    if (said && said->end == End::Returned && said->value != 0) {
      if (auto text = string_at(calls_.memory(), {said->value})) reason = terminal_text(*text);
    }
    return {
        ErrorKind::Os,
        fmt::format("process {} has no function {}, and loading {} into a clone of it: {}",
                    options_.request.pid, names_of(options_), options_.routine_library, reason)};
  }
  Result<CallOutcome> call_with_pipe(RemoteAddr function) {
    ClonePipe pipe = HA_TRY(calls_.open_pipe());
    PipeDrain drain(std::move(pipe.reading_end), bounded());
    std::vector<CallArgument> arguments;
    arguments.emplace_back(std::move(pipe.path));
    arguments.insert(arguments.end(), options_.call.arguments.begin(),
                     options_.call.arguments.end());
    auto outcome = calls_.call(function, arguments, until_);
    HA_TRY(drain.finish());
    written_ = drain.bytes();
    return outcome;
  }
  // Limits what a routine may write: a faulty or hostile one could quickly fill all memory or the
  // disk.
  PipeDrain::Take bounded() {
    return [this, taken = std::uint64_t{0}](std::string_view bytes) mutable -> Result<void> {
      taken += bytes.size();
      if (taken <= most_written_) return options_.take_written(bytes);
      return Error{ErrorKind::Impossible,
                   fmt::format("{} wrote more than {} MiB, {} times the memory of process {}, and "
                               "was stopped",
                               functions_.name, most_written_ >> 20, options_.most_written_times,
                               options_.request.pid)};
    };
  }
  void flush() {
    if (!functions_.flush || !can_flush_) return;
    const std::array<CallArgument, 1> all{std::uint64_t{0}};
    const auto flushed = calls_.call(*functions_.flush, all, Clock::now() + kForFlushing);
    can_flush_ = flushed && flushed->end == End::Returned;
    if (!can_flush_) options_.request.note("fflush did not return: buffered output is lost");
  }

  const CallOptions& options_;
  const Functions& functions_;
  CloneCalls& calls_;
  const std::uint64_t most_written_;
  std::array<std::size_t, 2> before_{};
  Clock::time_point until_;
  std::uint64_t written_ = 0;
  bool can_flush_ = true;
  std::string loading_;  // the loader function that did not return; empty: none
};

}  // namespace

Result<CallReport> call_in_clone(const CallOptions& options) {
  const auto target = HA_TRY(snapshot::Opened::open(options.request));
  const Process& process = *target.process;
  const Functions functions = HA_TRY(find_functions(options, target.modules, target.map));
  HA_TRY(options.request.deadline.check("looking for the function"));
  const CloneFacts facts = HA_TRY(clone_facts(process));

  CallReport report;
  std::optional<CallOutcome> outcome;
  std::optional<std::string> given_up;
  {
    Clone clone = HA_TRY(make_clone(process, options));
    options.request.note(
        fmt::format("cloned; {} threads were held for {:.1f} ms", clone.freeze().threads.size(),
                    std::chrono::duration<double, std::milli>(clone.freeze().pause).count()));
    {
      auto prepared = CloneCalls::prepare(clone.process(), options.allowed_calls);
      if (const auto reason = clone.given_up(); !prepared && reason) {
        return Error{ErrorKind::Impossible,
                     fmt::format("the clone was given up, because {}", *reason)};
      }
      CloneCalls calls = HA_TRY(std::move(prepared));
      options.request.note(walls_text(calls.walls()));
      Calling calling(options, functions, calls, facts.anonymous_bytes);
      outcome = HA_TRY(calling.run());
      given_up = clone.given_up();
      report = HA_TRY(calling.report(*outcome));
    }
    if (const auto ended = clone.end(); !ended) options.request.note(ended.error().message());
  }
  // Only after the end of the clone, because a forked worker names the frames.
  explain_ending(options, target.modules, *outcome, given_up, report);
  return report;
}

}  // namespace heapattach
