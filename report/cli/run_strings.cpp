#include "report/cli/run_strings.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "report/cli/failure.h"
#include "report/cli/look.h"
#include "report/cli/summary.h"
#include "report/cli/write_text.h"
#include "report/format/write/string_formats.h"

namespace heapattach {

namespace {

std::string text_of(const Options& options, StringReport report) {
  constexpr std::uint64_t kRowsOfAScreen = 30;
  const Look look = look_of(options);
  auto top = options.rows.top;
  const bool is_json = options.format == Format::Json;
  if (!is_json && look.columns != 0 && !top) top = kRowsOfAScreen;
  drop_rows(top, options.rows.min_bytes, report.found);
  return is_json ? format_strings_json(report) : format_strings_table(report, look);
}

}  // namespace

ExitStatus run_strings(const Options& options, const TakeSnapshot& take, Console& console) {
  const auto start = std::chrono::steady_clock::now();
  const Deadline deadline = Deadline::in(options.timeout);
  auto output = open_output(options, deadline);
  if (!output) return report_failure(output.error(), Stage::Output, deadline, console);
  const auto taken = take(options, deadline, console);
  if (!taken) return report_failure(taken.error(), Stage::Target, deadline, console);

  StringReport report;
  report.pid = taken->header.pid;
  report.found = find_duplicates(*taken);
  report.complete = taken->complete;
  report.reason = taken->reason;
  if (options.value_bytes != 0) report.shown_bytes = options.value_bytes;
  if (report.found.strings != 0 && report.found.without_text == report.found.strings) {
    console.error(
        fmt::format("{} has {} strings but not their texts; try: a snapshot taken with --values, "
                    "or the process itself",
                    options.file.empty() ? "the process" : options.file, report.found.strings));
    return ExitStatus::Failed;
  }
  const auto written =
      write_text(options, deadline, std::move(*output), text_of(options, std::move(report)));
  if (!written) return report_failure(written.error(), Stage::Output, deadline, console);
  console.say(
      summary_line(count_objects(*taken), *taken, std::chrono::steady_clock::now() - start));
  return taken->complete ? ExitStatus::Complete : ExitStatus::Partial;
}

}  // namespace heapattach
