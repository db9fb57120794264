#include "report/cli/run_stacks.h"

#include <chrono>
#include <cstdlib>

#include <unistd.h>

#include "report/cli/errors.h"
#include "report/cli/write_text.h"
#include "report/write/stack_formats.h"

namespace heapattach {

namespace {

std::string format_stacks(const stacks::StackReport& report, const Options& options) {
  if (options.format == Format::Json) return format_stacks_json(report);
  if (options.format == Format::Folded) return format_stacks_folded(report);
  const bool is_terminal = options.output.empty() && ::isatty(STDOUT_FILENO) == 1;
  const bool with_colour =
      !options.with_gzip && wants_colour(options.colour, is_terminal, std::getenv("NO_COLOR"));
  return format_stacks_text(report, with_colour);
}

}  // namespace

ExitStatus run_stacks(const Options& options, const TakeStacks& take, Console& console) {
  Deadline deadline;
  deadline.at = std::chrono::steady_clock::now() + options.timeout;
  const auto failed = [&](const Error& error, Stage stage) {
    console.error(error_message(error, stage));
    return exit_status_of(error.kind, stage, deadline.interrupted().value_or(0));
  };
  const auto found = take(options, deadline, console);
  if (!found) return failed(found.error(), Stage::Target);
  const auto written = write_text(options, deadline, format_stacks(*found, options));
  if (!written) return failed(written.error(), Stage::Output);
  for (const std::string& warning : found->warnings) console.error(warning);
  return found->warnings.empty() ? ExitStatus::Complete : ExitStatus::Partial;
}

}  // namespace heapattach
