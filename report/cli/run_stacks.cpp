#include <algorithm>

#include <fmt/format.h>

#include "report/cli/reports.h"
#include "report/cli/text_style.h"
#include "report/format/export/formats.h"
#include "report/text/human_bytes.h"

namespace heapattach {

namespace {

// Judges --fail-if deadlock, the only condition for stacks.
void judge_deadlocks(const Options& options, const stacks::StackReport& report, Answer& answer) {
  const auto deadlocks = std::count_if(report.findings.begin(), report.findings.end(),
                                       [](const stacks::Statement& finding) {
                                         return finding.kind == stacks::StatementKind::Deadlock;
                                       });
  if (options.fail_if.empty() || deadlocks == 0) return;
  answer.status = ExitStatus::FailIfHeld;
  answer.remarks.push_back(fmt::format("--fail-if 'deadlock' is true: {}",
                                       counted(static_cast<std::uint64_t>(deadlocks), "deadlock")));
}

}  // namespace

Result<Answer> run_stacks(Job& job) {
  const auto found = HA_TRY(job.sources.stacks(job.options, job.deadline, job.console));
  Answer answer;
  answer.text = job.options.format->stacks(found, style_of(job.options));
  answer.remarks = found.warnings;
  if (found.is_partial) answer.status = ExitStatus::Partial;
  judge_deadlocks(job.options, found, answer);
  return answer;
}

}  // namespace heapattach
