#pragma once

#include <span>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace heapattach {

// A report on one of several processes, as text.
struct ReportText {
  pid_t pid = 0;
  std::string text;       // empty: there is none
  std::string name{};     // of the process, if there is no report
  std::string why_not{};  // likewise
};

// Joins the reports on several processes into one text that the readers of the format accept. CSV
// and TSV get one header line, and the column `pid` in front.
[[nodiscard]] std::string join_csv(std::span<const ReportText> reports);
[[nodiscard]] std::string join_tsv(std::span<const ReportText> reports);
// Every metric gets one description, followed by the samples of all processes.
[[nodiscard]] std::string join_openmetrics(std::span<const ReportText> reports);

}  // namespace heapattach
