// --leaks: what is in use, but out of the program's reach.

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "report/cli/code_of_samples.h"
#include "report/cli/gate.h"
#include "report/cli/leak_code.h"
#include "report/cli/reports.h"
#include "report/cli/take_traced.h"
#include "report/cli/text_style.h"
#include "report/cli/trace_choice.h"
#include "report/cli/waiting.h"
#include "report/format/export/formats.h"
#include "report/type_names.h"
#include "symbols/malloc/source.h"

namespace heapattach {

namespace {

using snapshot::Snapshot;

// A newer release may know kinds of heaps whose objects the program frees itself.
Result<void> refuse_unknown_heaps(const Snapshot& snapshot) {
  if (std::all_of(snapshot.heaps.begin(), snapshot.heaps.end(),
                  [](const snapshot::Heap& heap) { return heap.name == heap.kind().name; })) {
    return {};
  }
  return Error{ErrorKind::Unsupported,
               "the snapshot has a heap of a kind that this release of heapattach does not know"};
}

// Why nothing can be said about leaks; empty if something can.
std::string why_no_verdict(const Snapshot& snapshot) {
  if (snapshot::are_collected(snapshot.heaps)) {
    return "no leaks: this heap has a garbage collector, which frees what nothing references. "
           "--suspects and --diff show what the program keeps without need; --heap both finds "
           "leaks of malloc's memory";
  }
  if (!snapshot.complete) return "no verdict on leaks: " + snapshot.reason;
  return {};
}

std::int64_t measure_leaks(const FailIf& condition,
                           const Snapshot& snapshot,
                           const analyze::Leaks& leaks) {
  std::uint64_t sum = 0;
  for (const analyze::LeakedType& row : leaks.types) {
    if (!matches_type(condition.type, snapshot.types[row.type].name)) continue;
    sum += condition.what == FailIf::What::Leaked ? row.objects : row.bytes;
  }
  return static_cast<std::int64_t>(sum);
}

// Takes a second snapshot, because an object in transit, in a register that is not read, has its
// reference again a moment later.
Result<const Snapshot*> take_again(Job& job) {
  const auto until = std::chrono::steady_clock::now() + *job.options.leaks.confirm;
  HA_TRY(wait_until(until));
  job.deadline = Deadline::in(job.options.timeout);
  return job.take(job.options);
}

// The program runs as long as it likes.
Result<const Snapshot*> take_at_exit(Job& job, LeakReport& report) {
  constexpr std::chrono::hours kEndless{24 * 3650};
  job.deadline = Deadline::in(kEndless);
  auto taken = HA_TRY(job.sources.at_exit(job.options, job.deadline, job.console));
  job.deadline = Deadline::in(job.options.timeout);
  report.program_end = std::move(taken.end);
  job.taken.push_back(std::move(taken.snapshot));
  return &job.taken.back();
}

// Traces malloc, and takes the heap: leaks are malloc's.
Result<TracedHeap> take_traced_malloc(Job& job) {
  Options of_trace = options_of_trace(job.options);
  of_trace.heap = {.key = glibc::kHeapKind.key};
  Options of_heap = job.options;
  if (of_heap.heap.is_auto()) of_heap.heap.key = glibc::kHeapKind.key;
  return take_traced(job, of_trace, of_heap);
}

// Adds the code that allocated the leaks to the report.
void add_code(const Job& job, const Snapshot& snapshot, trace::Trace& trace, LeakReport& report) {
  keep_leaked(trace, snapshot, report.found.members);
  report.trace = facts_of(trace, trace.events.size());
  report.code = code_of_leaks(trace, snapshot, report.found, frames_of(job.options));
}

// The leaks alone, in a format of traces.
void write_as_trace(Job& job,
                    const Snapshot& snapshot,
                    const std::shared_ptr<const trace::Trace>& trace,
                    Answer& answer) {
  answer.text.clear();
  answer.write = [&job, &snapshot, trace](Sink& sink) -> Result<bool> {
    if (job.options.format->trace_page != nullptr) {
      std::vector<std::string> problems;
      ExportOptions how;
      how.with_gzip = job.options.with_gzip;
      how.deadline = job.deadline;
      HA_TRY(job.options.format->trace_page(*trace, &snapshot,
                                            choice_of(job.options, *trace, problems), sink, how));
      return true;
    }
    TraceExportOptions how;
    how.stream.with_gzip = job.options.with_gzip;
    how.stream.deadline = job.deadline;
    how.frames = frames_of(job.options);
    how.value = trace::Value::InuseSpace;
    HA_TRY(job.options.format->trace(*trace, sink, how));
    return true;
  };
}

// `trace` is null if there is none.
Answer answer_of_leaks(Job& job,
                       const Snapshot& snapshot,
                       LeakReport& report,
                       const std::shared_ptr<trace::Trace>& trace) {
  const Format& format = *job.options.format;
  if (trace && report.no_verdict.empty()) add_code(job, snapshot, *trace, report);
  Answer answer = answer_about(
      job, snapshot,
      format.leaks ? format.leaks(snapshot, report, style_of(job.options)) : std::string());
  if (!format.leaks) write_as_trace(job, snapshot, trace, answer);
  if (trace && !trace->is_whole()) answer.make_partial();
  return answer;
}

}  // namespace

Result<Answer> run_leaks(Job& job) {
  const Options& options = job.options;
  job.taken.reserve(2);  // the first must not move
  LeakReport report;
  std::shared_ptr<trace::Trace> trace;
  const Snapshot* snapshot = nullptr;
  if (options.with_trace.length) {
    TracedHeap traced = HA_TRY(take_traced_malloc(job));
    snapshot = traced.heap;
    trace = std::move(traced.trace);
  } else {
    snapshot = HA_TRY(options.leaks.at_exit ? take_at_exit(job, report) : job.take(options));
  }
  HA_TRY(refuse_unknown_heaps(*snapshot));
  analyze::LeakOptions what;
  what.ignored = options.leaks.ignored;
  what.with_members = trace != nullptr;
  report.no_verdict = why_no_verdict(*snapshot);
  if (options.leaks.confirm && report.no_verdict.empty()) {
    what.confirmed_by = snapshot;
    snapshot = HA_TRY(take_again(job));
    report.no_verdict = why_no_verdict(*snapshot);
  }
  if (report.no_verdict.empty() && snapshot->header.live_only) {
    return Error{
        ErrorKind::Usage,
        fmt::format("{} contains only reachable objects, so it cannot show leaks", options.file)}
        .advise("a snapshot taken with --all");
  }
  if (report.no_verdict.empty()) report.found = analyze::find_leaks(*snapshot, what);
  report.top = options.rows.top;
  if (trace && !options.format->leaks && !report.no_verdict.empty()) {
    return Error{ErrorKind::Impossible, report.no_verdict};
  }
  Answer answer = answer_of_leaks(job, *snapshot, report, trace);
  if (!report.program_end.empty()) {
    answer.summary = [end = report.program_end, rest = std::move(answer.summary)] {
      return fmt::format("the program {}; {}", end, rest());
    };
  }
  if (!report.no_verdict.empty()) {
    // A condition that nobody can judge must not look like one that does not hold.
    if (!snapshot->complete || options.fail_if.empty()) return answer;
    return Error{ErrorKind::Usage, "--fail-if cannot be judged: " + report.no_verdict};
  }
  Gate gate(options, job.console);
  gate.add(*snapshot);
  gate.judge(
      [&](const FailIf& condition) { return measure_leaks(condition, *snapshot, report.found); },
      answer);
  return answer;
}

}  // namespace heapattach
