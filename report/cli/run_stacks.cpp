#include "report/cli/reports.h"
#include "report/cli/text_style.h"
#include "report/format/write/stack_formats.h"

namespace heapattach {

namespace {

std::string format_stacks(const stacks::StackReport& report, const Options& options) {
  if (options.format == Format::Json) return format_stacks_json(report);
  if (options.format == Format::Folded) return format_stacks_folded(report);
  const TextStyle style = style_of(options);
  StackStyle how;
  how.with_colour = style.with_colour;
  how.is_brief = options.brief.value_or(style.columns != 0);
  return format_stacks_text(report, how);
}

}  // namespace

Result<Answer> run_stacks(Job& job) {
  const auto found = HA_TRY(job.sources.stacks(job.options, job.deadline, job.console));
  Answer answer;
  answer.text = format_stacks(found, job.options);
  answer.remarks = found.warnings;
  if (found.is_partial) answer.status = ExitStatus::Partial;
  return answer;
}

}  // namespace heapattach
