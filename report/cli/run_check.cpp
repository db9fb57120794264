#include "report/cli/reports.h"
#include "report/format/write/check_formats.h"

namespace heapattach {

// Ends with the status that a snapshot would, as far as that shows before the process is held.
Result<Answer> run_check(Job& job) {
  const auto found = HA_TRY(job.sources.examination(job.options, job.deadline, job.console));
  Answer answer;
  const bool is_json = job.options.format == Format::Json;
  answer.text = is_json ? format_check_json(found) : format_check_table(found);
  if (!found.gap.empty()) answer.status = ExitStatus::Partial;
  if (found.refusal) answer.status = exit_status_of(*found.refusal, Stage::Target);
  return answer;
}

}  // namespace heapattach
