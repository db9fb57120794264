#include "report/cli/reports.h"
#include "report/cli/text_style.h"
#include "report/format/export/formats.h"

namespace heapattach {

Result<Answer> run_stacks(Job& job) {
  const auto found = HA_TRY(job.sources.stacks(job.options, job.deadline, job.console));
  Answer answer;
  answer.text = job.options.format->stacks(found, style_of(job.options));
  answer.remarks = found.warnings;
  if (found.is_partial) answer.status = ExitStatus::Partial;
  return answer;
}

}  // namespace heapattach
