#include <utility>

#include <fmt/format.h>

#include "report/cli/reports.h"
#include "report/cli/text_style.h"
#include "report/format/export/formats.h"

namespace heapattach {

namespace {

std::string text_of(const Options& options, StringReport report) {
  constexpr std::uint64_t kRowsOfAScreen = 30;
  const TextStyle style = style_of(options);
  auto top = options.rows.top;
  if (options.format->read_by == ReadBy::People && style.columns != 0 && !top) top = kRowsOfAScreen;
  drop_rows(top, options.rows.min_bytes, report.found);
  return options.format->strings(report, style);
}

}  // namespace

Result<Answer> run_strings(Job& job) {
  const Options& options = job.options;
  const snapshot::Snapshot& taken = *HA_TRY(job.take(options));
  StringReport report;
  report.pid = taken.header.pid;
  report.found = find_duplicates(taken);
  report.complete = taken.complete;
  report.reason = taken.reason;
  if (options.value_bytes != 0) report.shown_bytes = options.value_bytes;
  if (report.found.strings != 0 && report.found.without_text == report.found.strings) {
    return Error{
        ErrorKind::Malformed,
        fmt::format("{} has {} strings but not their texts",
                    options.file.empty() ? "the process" : options.file, report.found.strings)}
        .advise("a snapshot taken with --values, or the process itself");
  }
  return answer_about(job, taken, text_of(options, std::move(report)));
}

}  // namespace heapattach
