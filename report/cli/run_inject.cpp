// --inject: makes the routine of the process write its dump, in a clone, and keeps that, or makes
// the usual snapshot of it. If another thread held the collector's lock when the clone was made,
// another clone may succeed: a few are tried.

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/arch/processor_names.h"
#include "report/cli/redaction.h"
#include "report/cli/reports.h"
#include "report/cli/take_file.h"
#include "report/format/write/output_file.h"

namespace heapattach {

namespace {

using Clock = std::chrono::steady_clock;

// HEAPATTACH_GRAPH and HEAPATTACH_FULL of inject/routine/heapattach.h.
constexpr std::uint64_t kGraph = 0;
constexpr std::uint64_t kFull = 1;
// The shares of the remaining time that each clone gets; the last gets all.
constexpr int kShares[] = {8, 4, 2, 1};
// A dump of all bytes takes twice the heap if all objects have the smallest size.
constexpr std::uint64_t kMostInMemory = 4;

// The shared library that was built and installed with this program; empty if it is missing.
std::string own_library() {
  std::error_code failure;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure) return {};
  const auto top = program.parent_path().parent_path();
  const std::string of_processor = fmt::format("lib/{}-linux-gnu", kOwnProcessorName);
  for (const std::string_view place : {"lib", of_processor.c_str(), "lib64", "inject/routine"}) {
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

// The last report, or the first that did not time out.
Result<CallReport> call_with_patience(const Job& job, Routine routine) {
  std::optional<CallReport> report;
  for (const int share : kShares) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(job.deadline.at - Clock::now());
    routine.patience.reset();
    if (share > 1) routine.patience = left / share;
    report = HA_TRY(job.sources.routine(job.options, job.deadline, job.console, routine));
    if (!report->is_timeout || report->written > 0) break;
    HA_TRY(job.deadline.check("calling the dump routine"));
    job.console.step(report->ending + ": another clone");
  }
  return *std::move(report);
}

// An error if there is no dump, although the routine was called.
Result<void> check_dumped(const CallReport& report, pid_t pid) {
  if (!report.value) {
    std::string text = report.ending;
    for (const std::string& frame : report.frames) text += "\n  in " + frame;
    return Error{report.is_timeout ? ErrorKind::Timeout : ErrorKind::Impossible, text};
  }
  if (report.written != 0 && !report.value->starts_with('-')) return {};
  return Error{ErrorKind::Impossible,
               fmt::format("{} returned {} and wrote {} bytes: no dump of process {}",
                           report.function, *report.value, report.written, pid)};
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

// The heap as the routine has written it: with all bytes, because types depend on them.
Result<snapshot::Snapshot> take_by_routine(const Job& job) {
  const Options& options = job.options;
  const Fd file(::memfd_create("heapattach-dump", MFD_CLOEXEC));
  if (file.empty()) return os_error("making room for the dump", errno);
  Routine routine = routine_of(options, kFull);
  routine.most_written_times = kMostInMemory;
  routine.take_written = [&file](std::string_view bytes) { return write_all(file, bytes); };
  const auto report = HA_TRY(call_with_patience(job, std::move(routine)));
  HA_TRY(check_dumped(report, options.pid));
  Options dump = options;
  dump.file = fmt::format("/proc/self/fd/{}", file.get());
  auto snapshot = HA_TRY(take_from_file(dump, job.deadline, job.console));
  snapshot.header.pid = options.pid;
  snapshot.header.source = "routine";
  if (options.type_info.empty()) snapshot.header.runtime.clear();
  redact_if_asked(options, snapshot, job.console);
  return snapshot;
}

Result<Answer> keep_dump(Job& job) {
  const Options& options = job.options;
  OutputFile sink(std::move(job.output), job.deadline);
  Routine routine = routine_of(options, options.value_bytes > 0 ? kFull : kGraph);
  routine.take_written = [&](std::string_view bytes) -> Result<void> {
    auto written = sink.write(bytes);
    if (!written) job.stage = Stage::Output;
    return written;
  };
  const auto report = HA_TRY(call_with_patience(job, std::move(routine)));
  HA_TRY(check_dumped(report, options.pid));
  job.stage = Stage::Output;
  HA_TRY(sink.finish());
  Answer answer;
  answer.is_written = true;
  answer.summary = [line = fmt::format("{} returned {} and wrote {} bytes to {}", report.function,
                                       report.value.value_or(""), report.written, options.keep)] {
    return line;
  };
  return answer;
}

}  // namespace

Result<Answer> run_inject(Job& job) {
  if (!job.options.keep.empty()) return keep_dump(job);
  job.taken.push_back(HA_TRY(take_by_routine(job)));
  return answer_of_snapshot(job, job.taken.back());
}

}  // namespace heapattach
