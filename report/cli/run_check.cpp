#include "report/cli/run_check.h"

#include <chrono>
#include <utility>

#include "report/cli/errors.h"
#include "report/cli/write_text.h"
#include "report/write/check_formats.h"

namespace heapattach {

ExitStatus run_check(const Options& options, const Examine& examine, Console& console) {
  Deadline deadline;
  deadline.at = std::chrono::steady_clock::now() + options.timeout;
  const auto found = examine(options, deadline, console);
  if (!found) {
    console.error(error_message(found.error(), Stage::Target));
    return exit_status_of(found.error().kind, Stage::Target, deadline.interrupted().value_or(0));
  }
  const bool is_json = options.format == Format::Json;
  const auto written = write_text(options, deadline,
                                  is_json ? format_check_json(*found) : format_check_table(*found));
  if (!written) {
    console.error(error_message(written.error(), Stage::Output));
    return exit_status_of(written.error().kind, Stage::Output, deadline.interrupted().value_or(0));
  }
  return found->refusal ? exit_status_of(*found->refusal, Stage::Target) : ExitStatus::Complete;
}

}  // namespace heapattach
