#include "report/cli/reports.h"
#include "report/format/write/check_formats.h"

namespace heapattach {

// Ends with the status of a snapshot that fails at once, if it would.
Result<Answer> run_check(Job& job) {
  const auto found = HA_TRY(job.sources.examination(job.options, job.deadline, job.console));
  Answer answer;
  const bool is_json = job.options.format == Format::Json;
  answer.text = is_json ? format_check_json(found) : format_check_table(found);
  if (found.refusal) answer.status = exit_status_of(*found.refusal, Stage::Target);
  return answer;
}

}  // namespace heapattach
