// --diagnose: what is wrong with a process, in one page.

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "report/cli/find_processes.h"
#include "report/cli/reports.h"
#include "report/cli/text_style.h"
#include "report/format/export/formats.h"

namespace heapattach {

namespace {

// Whether a verdict says that the process hangs.
bool says_stuck(const diagnose::Verdict& verdict) {
  constexpr std::array<std::string_view, 3> kKinds{"deadlock", "lost_lock", "all_waiting"};
  return std::find(kKinds.begin(), kKinds.end(), verdict.kind) != kKinds.end();
}

// The condition `found` is true if the verdict is a fault, and `stuck` if it is one of hanging.
void judge_conditions(const Options& options, const DiagnosisReport& report, Answer& answer) {
  if (!report.verdict.is_fault) return;
  for (const FailIf& condition : options.fail_if) {
    if (condition.what == FailIf::What::Stuck && !says_stuck(report.verdict)) continue;
    answer.status = ExitStatus::FailIfHeld;
    answer.remarks.push_back(
        fmt::format("--fail-if '{}' is true: {}", condition.text, report.verdict.kind));
  }
}

}  // namespace

Result<Answer> run_diagnose(Job& job) {
  const Options& options = job.options;
  DiagnosisReport report;
  report.evidence = HA_TRY(job.sources.diagnosis(options, job.deadline, job.console));
  job.console.step("deciding on the verdict");
  report.verdict = diagnose::judge(report.evidence);
  report.is_one_of_several = options.is_one_of_several;
  if (const auto listed = listed_process(options.pid); listed && options.is_one_of_several) {
    report.name = listed->name;
  }
  Answer answer;
  answer.text = options.format->diagnosis(report, style_of(options));
  if (report.evidence.is_partial) answer.status = ExitStatus::Partial;
  judge_conditions(options, report, answer);
  return answer;
}

}  // namespace heapattach
