// --leaks: what is in use, but out of the program's reach.

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "report/cli/gate.h"
#include "report/cli/reports.h"
#include "report/cli/text_style.h"
#include "report/cli/waiting.h"
#include "report/format/export/formats.h"
#include "report/type_names.h"

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

}  // namespace

Result<Answer> run_leaks(Job& job) {
  const Options& options = job.options;
  job.taken.reserve(2);  // the first must not move
  LeakReport report;
  const Snapshot* snapshot =
      HA_TRY(options.leaks.at_exit ? take_at_exit(job, report) : job.take(options));
  HA_TRY(refuse_unknown_heaps(*snapshot));
  analyze::LeakOptions what;
  what.ignored = options.leaks.ignored;
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
  Answer answer =
      answer_about(job, *snapshot, options.format->leaks(*snapshot, report, style_of(options)));
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
