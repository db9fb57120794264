// A snapshot, in one of its formats, or counts of it.

#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "report/analyze/type_sizes.h"
#include "report/cli/gate.h"
#include "report/cli/reports.h"
#include "report/cli/summary.h"
#include "report/cli/text_style.h"
#include "report/diagnose/gather.h"
#include "report/diagnose/process_facts.h"
#include "report/diagnose/verdict.h"
#include "report/format/export/formats.h"
#include "report/text/human_bytes.h"

namespace heapattach {

namespace {

using snapshot::Snapshot;

// False if the deadline cut it short.
Result<bool> write_snapshot(Job& job, const Snapshot& snapshot, Sink& sink) {
  const Options& options = job.options;
  const auto on_progress = [&](std::uint64_t objects) {
    job.console.progress("writing objects", objects, snapshot.objects.size());
  };
  if (options.format->snapshot != nullptr) {
    const bool with_values = options.value_bytes > 0 || !options.file.empty();
    HA_TRY(options.format->snapshot(snapshot, sink,
                                    {options.with_gzip, with_values, job.deadline, on_progress}));
    return true;
  }
  JsonLinesOptions how;
  how.with_gzip = options.with_gzip;
  how.deadline = job.deadline;
  how.on_progress = on_progress;
  return HA_TRY(options.format->snapshot_lines(snapshot, sink, how)).in_time;
}

}  // namespace

namespace {

std::optional<diagnose::ProcessFacts> facts_about(pid_t pid) {
  const auto process = Process::open(pid);
  if (!process) return std::nullopt;
  return diagnose::read_facts(*process);
}

std::string verdict_on(pid_t pid, const Snapshot& snapshot) {
  diagnose::Verdict verdict = diagnose::judge(diagnose::proven_by(snapshot, facts_about(pid)));
  if (verdict.is_fault) return std::move(verdict.sentence);
  const auto leaked = diagnose::possibly_leaked(snapshot);
  if (!leaked) return {};
  return fmt::format(
      "{} of malloc's heap have no reference; \"heapattach diagnose {}\" says "
      "whether they leaked",
      human_bytes(*leaked), pid);
}

}  // namespace

// Before the summary of a process's snapshot, says what a diagnosis would say first, if the
// snapshot proves a fault. It does not show everything that a diagnosis looks at, so it is silent
// about health.
void add_verdict(const Options& options, const Snapshot& snapshot, Answer& answer) {
  if (options.report != Report::Snapshot || options.pid == 0 || options.redact) return;
  answer.verdict = [&snapshot, pid = options.pid] { return verdict_on(pid, snapshot); };
}

// The most important fact decides the status: that it ends early, that a condition held (which a
// missing part could not undo), that a part is missing.
Result<Answer> answer_of_snapshot(Job& job, const Snapshot& snapshot) {
  const Options& options = job.options;
  HA_TRY(check_exportable(*options.format, snapshot));
  job.console.step(snapshot.objects.empty()
                       ? "counting objects"
                       : fmt::format("counting {} objects", snapshot.objects.size()));
  if (options.report == Report::Sizes && lacks_roots(snapshot)) {
    return answer_without_roots(job, snapshot);
  }
  snapshot::CountTable counts = count_objects(snapshot, options.by);
  job.console.step(typed_line(counts));
  if (options.report == Report::Sizes) {
    job.console.step("computing dominators");
    job.console.progress("computing dominators");
    analyze::add_sizes(snapshot, options.by, counts);
  }
  Gate gate(options, job.console);
  gate.add(snapshot);
  Answer answer = answer_about(job, snapshot, counts, {});
  gate.judge(
      [&](const FailIf& condition) {
        return condition.what == FailIf::What::Retained
                   ? retained_by(condition, snapshot, options.by)
                   : measure(condition, counts);
      },
      answer);
  if (options.report == Report::Snapshot || options.report == Report::Inject) {
    job.console.step("writing the snapshot");
    answer.write = [&job, &snapshot](Sink& sink) { return write_snapshot(job, snapshot, sink); };
    add_verdict(options, snapshot, answer);
  } else {
    answer.text = options.format->counts(choose_rows(counts, gate.rows()), style_of(options));
  }
  return answer;
}

Result<Answer> run_snapshot(Job& job) {
  return answer_of_snapshot(job, *HA_TRY(job.take(job.options)));
}

}  // namespace heapattach
