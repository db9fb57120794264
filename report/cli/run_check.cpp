#include "report/cli/run_check.h"

#include <chrono>
#include <utility>

#include "report/cli/failure.h"
#include "report/cli/write_text.h"
#include "report/format/write/check_formats.h"

namespace heapattach {

ExitStatus run_check(const Options& options, const Examine& examine, Console& console) {
  const Deadline deadline = Deadline::in(options.timeout);
  auto output = open_output(options, deadline);
  if (!output) return report_failure(output.error(), Stage::Output, deadline, console);
  const auto found = examine(options, deadline, console);
  if (!found) return report_failure(found.error(), Stage::Target, deadline, console);
  const bool is_json = options.format == Format::Json;
  const auto written = write_text(options, deadline, std::move(*output),
                                  is_json ? format_check_json(*found) : format_check_table(*found));
  if (!written) return report_failure(written.error(), Stage::Output, deadline, console);
  return found->refusal ? exit_status_of(*found->refusal, Stage::Target) : ExitStatus::Complete;
}

}  // namespace heapattach
