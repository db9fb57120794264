#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attach/base/deadline.h"
#include "report/call/function_call.h"
#include "report/cli/console.h"
#include "report/cli/options.h"
#include "report/collect/examine.h"
#include "report/collect/memory_account.h"
#include "report/diagnose/evidence.h"
#include "report/exit_status.h"
#include "report/format/write/output_file.h"
#include "report/model/model.h"
#include "report/stacks/stack_report.h"
#include "report/trace/trace.h"

namespace heapattach {

// A heap and, for a live process, its memory at the same moment.
struct TakenSummary {
  snapshot::Snapshot snapshot;
  std::optional<snapshot::SeenMemory> memory;
  std::optional<Error> refusal = {};  // why no heap was read; then the snapshot has only its origin
};

// The heap of a program when it was about to exit.
struct TakenAtExit {
  snapshot::Snapshot snapshot;
  std::string end;  // in words: "exited with status 1"
};

// A call to a dump routine; see CallOptions.
struct Routine {
  CallExpression call;
  std::vector<std::string> or_else;
  std::string routine_library;
  std::function<Result<void>(std::string_view)> take_written;
  std::optional<std::chrono::milliseconds> patience;
  std::uint64_t most_written_times = 16;
};

// The functions that read a report's input: a process, or the file in the options. Tests substitute
// their own, and may leave entries empty that they do not use.
struct Sources {
  template <class Value, class... More>
  using Take = std::function<Result<Value>(
      const Options& options, const Deadline& deadline, Console& console, More... more)>;
  Take<snapshot::Snapshot> snapshot = {};
  Take<TakenSummary> summary = {};
  Take<snapshot::Examination> examination = {};
  Take<stacks::StackReport> stacks = {};
  Take<CallReport> call = {};
  Take<CallReport> ruby = {};
  Take<CallReport, const Routine&> routine = {};
  // Calls `before_leaving`, which may be empty, at the end of the recording (TraceOptions).
  Take<trace::Trace, const std::function<void()>&> trace = {};
  Take<TakenAtExit> at_exit = {};  // of options.leaks.command
  Take<diagnose::Evidence> diagnosis = {};
};

// One run of one report.
struct Job {
  const Options& options;
  const Sources& sources;
  Console& console;
  Deadline& deadline;                          // a report may move it
  OpenOutput output;                           // opened first, so that no target is stopped in vain
  Stage stage = Stage::Target;                 // what an error that ends the job concerns
  std::vector<snapshot::Snapshot> taken = {};  // Answer::write may refer to them
  // Says what could not be taken out of the target, why, and which command takes it out. Printed
  // last; the status is then NotReleased. Empty: nothing was left.
  std::string left_in = {};
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

  // Takes another snapshot, which lives as long as the job.
  Result<const snapshot::Snapshot*> take(const Options& of);
};

// The result of a report.
struct Answer {
  std::string text = {};  // the whole report
  // If set, writes the report instead. Returns false if the deadline cut it short.
  std::function<Result<bool>(Sink&)> write = {};
  ExitStatus status = ExitStatus::Complete;
  std::vector<std::string> remarks = {};      // printed after the report, even with -q
  std::function<std::string()> verdict = {};  // made and printed before the summary; may be empty
  std::function<std::string()> summary = {};  // made and printed last; -q silences both
  bool is_written = false;                    // the report itself has written to Job::output

  // Says in the status that something is missing, unless it says something graver.
  void make_partial() {
    if (status == ExitStatus::Complete) status = ExitStatus::Partial;
  }
};

// Computes the answer. If it fails, nothing is written.
using MakeAnswer = Result<Answer> (*)(Job& job);

// Runs the requested report: opens the output, computes the answer, writes it, and prints the
// outcome. `deadline` is that of the run, and afterwards where the report has moved it.
[[nodiscard]] ExitStatus run_report(const Options& options,
                                    const Sources& sources,
                                    Console& console,
                                    Deadline& deadline);
// The same with a deadline by the options, from now.
[[nodiscard]] ExitStatus run_report(const Options& options,
                                    const Sources& sources,
                                    Console& console);

// The answer for a report on one snapshot, which lives as long as the job: the text, with the
// snapshot's summary and status.
[[nodiscard]] Answer answer_about(const Job& job,
                                  const snapshot::Snapshot& snapshot,
                                  std::string text);
// The answer for a report on a snapshot whose objects have been counted.
[[nodiscard]] Answer answer_about(const Job& job,
                                  const snapshot::Snapshot& snapshot,
                                  snapshot::CountTable counts,
                                  std::string text);

// Whether the snapshot ends before its roots, so that nothing is known to be alive.
[[nodiscard]] bool lacks_roots(const snapshot::Snapshot& snapshot);
// The answer for a report that needs the roots.
[[nodiscard]] Answer answer_without_roots(const Job& job, const snapshot::Snapshot& snapshot);

}  // namespace heapattach
