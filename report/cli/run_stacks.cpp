#include "report/cli/run_stacks.h"

#include <chrono>
#include <utility>

#include "report/cli/failure.h"
#include "report/cli/look.h"
#include "report/cli/write_text.h"
#include "report/format/write/stack_formats.h"

namespace heapattach {

namespace {

std::string format_stacks(const stacks::StackReport& report, const Options& options) {
  if (options.format == Format::Json) return format_stacks_json(report);
  if (options.format == Format::Folded) return format_stacks_folded(report);
  return format_stacks_text(report, look_of(options).with_colour);
}

}  // namespace

ExitStatus run_stacks(const Options& options, const TakeStacks& take, Console& console) {
  const Deadline deadline = Deadline::in(options.timeout);
  auto output = open_output(options, deadline);
  if (!output) return report_failure(output.error(), Stage::Output, deadline, console);
  const auto found = take(options, deadline, console);
  if (!found) return report_failure(found.error(), Stage::Target, deadline, console);
  const auto written =
      write_text(options, deadline, std::move(*output), format_stacks(*found, options));
  if (!written) return report_failure(written.error(), Stage::Output, deadline, console);
  for (const std::string& warning : found->warnings) console.error(warning);
  return found->is_partial ? ExitStatus::Partial : ExitStatus::Complete;
}

}  // namespace heapattach
