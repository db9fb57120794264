#include "report/cli/run_inject.h"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "report/cli/failure.h"
#include "report/cli/redaction.h"
#include "report/cli/run.h"
#include "report/cli/take_file.h"
#include "report/format/write/output_file.h"

namespace heapattach {

namespace {

using Clock = std::chrono::steady_clock;

// HEAPATTACH_GRAPH and HEAPATTACH_FULL of inject/routine/heapattach.h.
constexpr std::uint64_t kGraph = 0;
constexpr std::uint64_t kFull = 1;
// The shares of what is left of the time that one clone after the other gets; the last gets all.
constexpr int kShares[] = {8, 4, 2, 1};
// A dump of all bytes takes twice the heap if all objects are as small as can be.
constexpr std::uint64_t kMostInMemory = 4;

// The shared library that was built and installed with this program; empty if it is not there.
std::string own_library() {
  std::error_code failure;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure) return {};
  const auto top = program.parent_path().parent_path();
  for (const char* place : {"lib", "lib/x86_64-linux-gnu", "lib64", "inject/routine"}) {
    const auto library = top / place / "libheapattach_dump.so.1";
    if (std::filesystem::exists(library, failure)) return library.string();
  }
  return {};
}

Routine routine_of(const Options& options, std::uint64_t mode) {
  Routine routine;
  routine.call.function = options.routine;
  if (options.routine.empty()) {
    routine.call.function = "heapattach_dump";
    routine.or_else = {"heapdump_dump"};
  }
  const bool is_own = routine.call.function == "heapattach_dump";
  routine.routine_library =
      options.routine_library.empty() && is_own ? own_library() : options.routine_library;
  routine.call.arguments = {mode};
  return routine;
}

// The last report, or the first that is not about waiting in vain.
Result<CallReport> call_with_patience(const Options& options,
                                      const Deadline& deadline,
                                      Console& console,
                                      const CallRoutine& call,
                                      Routine routine) {
  std::optional<CallReport> report;
  for (const int share : kShares) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline.at - Clock::now());
    routine.patience.reset();
    if (share > 1) routine.patience = left / share;
    report = HA_TRY(call(options, deadline, console, routine));
    if (!report->is_timeout || report->written > 0) break;
    HA_TRY(deadline.check("calling the dump routine"));
    console.step(report->ending + ": another clone");
  }
  return *std::move(report);
}

// Why there is no dump, although the routine was called; empty if there is one.
std::string failure_of(const CallReport& report, pid_t pid) {
  if (!report.value) {
    std::string text = report.ending;
    for (const std::string& frame : report.frames) text += "\n  in " + frame;
    return text;
  }
  if (report.written != 0 && !report.value->starts_with('-')) return {};
  return fmt::format("{} returned {} and wrote {} bytes: no dump of process {}", report.function,
                     *report.value, report.written, pid);
}

void tell(const CallReport& report, const std::string& file, Console& console) {
  const std::string result = report.value.value_or("");
  console.say(fmt::format("{} returned {} and wrote {} bytes to {}", report.function, result,
                          report.written, file));
}

Result<void> write_all(const Fd& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    const int failure = errno;
    if (written < 0 && failure == EINTR) continue;
    if (written <= 0) return os_error("keeping the dump in memory", failure);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

// The heap as the routine has written it, all bytes, because it is those that types are found by.
Result<snapshot::Snapshot> take_by_routine(const Options& options,
                                           const Deadline& deadline,
                                           Console& console,
                                           const CallRoutine& call) {
  const Fd file(::memfd_create("heapattach-dump", MFD_CLOEXEC));
  if (file.empty()) return os_error("making room for the dump", errno);
  Routine routine = routine_of(options, kFull);
  routine.most_written_times = kMostInMemory;
  routine.take_written = [&file](std::string_view bytes) { return write_all(file, bytes); };
  const auto report =
      HA_TRY(call_with_patience(options, deadline, console, call, std::move(routine)));
  if (const std::string why = failure_of(report, options.pid); !why.empty()) {
    return Error{report.is_timeout ? ErrorKind::Timeout : ErrorKind::Os, why};
  }
  Options dump = options;
  dump.file = fmt::format("/proc/self/fd/{}", file.get());
  auto snapshot = HA_TRY(take_from_file(dump, deadline, console));
  snapshot.header.pid = options.pid;
  snapshot.header.source = "routine";
  if (options.type_info.empty()) snapshot.header.runtime.clear();
  return snapshot;
}

ExitStatus keep_dump(const Options& options, const CallRoutine& call, Console& console) {
  const Deadline deadline = Deadline::in(options.timeout);
  auto output = OpenOutput::file(options.keep, options.force, deadline);
  if (!output) return report_failure(output.error(), Stage::Output, deadline, console);
  OutputFile sink(std::move(output).value(), deadline);
  std::optional<Error> not_written;
  Routine routine = routine_of(options, options.value_bytes > 0 ? kFull : kGraph);
  routine.take_written = [&](std::string_view bytes) -> Result<void> {
    auto written = sink.write(bytes);
    if (!written) not_written = written.error();
    return written;
  };
  const auto report = call_with_patience(options, deadline, console, call, std::move(routine));
  if (not_written) return report_failure(*not_written, Stage::Output, deadline, console);
  if (!report) return report_failure(report.error(), Stage::Target, deadline, console);
  if (const std::string why = failure_of(*report, options.pid); !why.empty()) {
    console.error(why);
    return report->is_timeout ? ExitStatus::Timeout : ExitStatus::Failed;
  }
  if (const auto finished = sink.finish(); !finished) {
    return report_failure(finished.error(), Stage::Output, deadline, console);
  }
  tell(*report, options.keep, console);
  return ExitStatus::Complete;
}

}  // namespace

ExitStatus run_inject(const Options& options, const CallRoutine& call, Console& console) {
  if (!options.keep.empty()) return keep_dump(options, call, console);
  Options usual = options;
  usual.report = Report::Snapshot;
  return run(
      usual,
      [&call](const Options& what, const Deadline& deadline, Console& shown) {
        auto taken = take_by_routine(what, deadline, shown, call);
        if (taken) redact_if_asked(what, *taken, shown);
        return taken;
      },
      console);
}

}  // namespace heapattach
