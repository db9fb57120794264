#include "report/cli/runner.h"

#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "attach/process/permission.h"
#include "report/cli/errors.h"
#include "report/cli/output_name.h"
#include "report/cli/report_table.h"
#include "report/cli/summary.h"
#include "report/cli/write_text.h"
#include "report/format/write/text_sink.h"

namespace heapattach {

namespace {

// The kernel reports only "Permission denied"; the rule that forbade it can be found out.
Error with_reason(Error error, const Options& options) {
  if (error.kind != ErrorKind::Denied || !error.advice.empty() || options.pid == 0) return error;
  const auto process = Process::open(options.pid);
  if (!process) return error;
  const auto allowed = check_may_trace(*process);
  if (allowed || allowed.error().kind != ErrorKind::Denied) return error;
  Error reason = allowed.error();
  reason.reason = fmt::format("process {}: {}", options.pid, reason.reason);
  return reason;
}

ExitStatus failed(const Error& error, Stage stage, const Job& job) {
  const Error& shown = stage == Stage::Target ? with_reason(error, job.options) : error;
  return report_failure(shown, stage, job.deadline, job.console);
}

// Keeps a report that will be joined with those on other processes. False if the deadline cut it
// short.
Result<bool> gather(const Answer& answer, const Options& options) {
  std::string text = answer.text;
  TextSink sink(text);
  const bool in_time = answer.write ? HA_TRY(answer.write(sink)) : true;
  options.gathered->push_back({.pid = options.pid, .text = std::move(text)});
  return in_time;
}

// False if the deadline cut it short.
Result<bool> write_answer(const Answer& answer, Job& job) {
  if (answer.is_written) return true;
  if (!answer.write) job.console.end_progress();
  if (job.options.gathered != nullptr) return gather(answer, job.options);
  OutputFile sink(std::move(job.output), job.deadline);
  bool in_time = true;
  if (answer.write) {
    in_time = HA_TRY(answer.write(sink));
  } else {
    HA_TRY(write_shown(job.options, answer.text, sink));
  }
  HA_TRY(sink.finish());
  return in_time;
}

ExitStatus finish(const Answer& answer, Job& job) {
  auto in_time = write_answer(answer, job);
  if (!in_time && has_reader_gone(job.options, in_time.error())) in_time = true;
  if (!in_time) return failed(in_time.error(), Stage::Output, job);
  for (const std::string& remark : answer.remarks) job.console.error(remark);
  if (const std::string name = output_name(job.options);
      job.options.output.empty() && !name.empty()) {
    job.console.say(fmt::format("written to {}", name));
  }
  if (const std::string verdict = answer.verdict ? answer.verdict() : ""; !verdict.empty()) {
    job.console.say(verdict);
  }
  if (answer.summary) job.console.say(answer.summary());
  if (*in_time) return answer.status;
  return report_failure({ErrorKind::Timeout,
                         "the deadline passed while writing; the output so far is marked partial"},
                        Stage::Output, job.deadline, job.console);
}

}  // namespace

Result<const snapshot::Snapshot*> Job::take(const Options& of) {
  taken.push_back(HA_TRY(sources.snapshot(of, deadline, console)));
  return &taken.back();
}

Answer answer_about(const Job& job, const snapshot::Snapshot& snapshot, std::string text) {
  return answer_about(job, snapshot, count_objects(snapshot), std::move(text));
}

Answer answer_about(const Job& job,
                    const snapshot::Snapshot& snapshot,
                    snapshot::CountTable counts,
                    std::string text) {
  Answer answer;
  answer.text = std::move(text);
  answer.status = snapshot.complete ? ExitStatus::Complete : ExitStatus::Partial;
  answer.summary = [&job, &snapshot, counts = std::move(counts)] {
    return summary_line(counts, snapshot, std::chrono::steady_clock::now() - job.start);
  };
  return answer;
}

bool lacks_roots(const snapshot::Snapshot& snapshot) {
  return !snapshot.complete && snapshot.roots.empty();
}

Answer answer_without_roots(const Job& job, const snapshot::Snapshot& snapshot) {
  Answer answer = answer_about(job, snapshot, {});
  answer.remarks.push_back(
      fmt::format("nothing shows what keeps objects alive, because the snapshot has no roots ({})",
                  snapshot.reason));
  return answer;
}

ExitStatus run_report(const Options& options, const Sources& sources, Console& console) {
  Deadline deadline = Deadline::in(options.timeout);
  return run_report(options, sources, console, deadline);
}

ExitStatus run_report(const Options& options,
                      const Sources& sources,
                      Console& console,
                      Deadline& deadline) {
  auto output = open_output(options, deadline);
  if (!output) return report_failure(output.error(), Stage::Output, deadline, console);
  Job job{options, sources, console, deadline, std::move(*output)};
  const auto answer = row_of(options.report).answer(job);
  const ExitStatus status = answer ? finish(*answer, job) : failed(answer.error(), job.stage, job);
  if (job.left_in.empty()) return status;
  console.error(job.left_in);
  return ExitStatus::NotReleased;
}

}  // namespace heapattach
