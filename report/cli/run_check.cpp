#include "report/cli/reports.h"
#include "report/format/export/formats.h"

namespace heapattach {

// Ends with the status that a snapshot would, as far as that shows before the process is held.
Result<Answer> run_check(Job& job) {
  const auto found = HA_TRY(job.sources.examination(job.options, job.deadline, job.console));
  Answer answer;
  answer.text = job.options.format->check(found, {});
  if (!found.gap.empty()) answer.status = ExitStatus::Partial;
  if (found.refusal) answer.status = exit_status_of(*found.refusal, Stage::Target);
  return answer;
}

}  // namespace heapattach
