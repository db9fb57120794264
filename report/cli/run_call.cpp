#include "report/cli/run_call.h"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "report/cli/failure.h"
#include "report/cli/write_text.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

// As it is, but for a terminal: what the target says must not steer that.
std::string shown(std::string_view text, bool on_terminal) {
  if (!on_terminal) return std::string(text);
  std::string safe;
  while (!text.empty()) {
    const std::size_t length = text.find('\n');
    safe += terminal_text(text.substr(0, length));
    safe += '\n';
    text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
  }
  return safe;
}

std::string text_of(const CallReport& report, bool on_terminal) {
  std::string text = shown(report.output, on_terminal);
  if (!report.value) return text;
  if (!text.empty() && text.back() != '\n') text += '\n';
  text += shown(*report.value, on_terminal);
  if (text.empty() || text.back() != '\n') text += '\n';
  return text;
}

void pass_on_errors(const CallReport& report, Console& console) {
  std::string_view text = report.errors;
  while (!text.empty()) {
    const std::size_t length = text.find('\n');
    console.say(text.substr(0, length));
    text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
  }
}

}  // namespace

ExitStatus run_call(const Options& options, const Call& call, Console& console) {
  const Deadline deadline = Deadline::in(options.timeout);
  auto output = open_output(options, deadline);
  if (!output) return report_failure(output.error(), Stage::Output, deadline, console);
  const auto report = call(options, deadline, console);
  if (!report) return report_failure(report.error(), Stage::Target, deadline, console);
  pass_on_errors(*report, console);
  for (const std::string& note : report->notes) console.error(note);
  const bool on_terminal = options.output.empty() && ::isatty(STDOUT_FILENO) == 1;
  const auto written =
      write_text(options, deadline, std::move(*output), text_of(*report, on_terminal));
  if (!written) return report_failure(written.error(), Stage::Output, deadline, console);
  if (report->value) return ExitStatus::Complete;
  console.error(report->ending);
  for (std::size_t i = 0; i < report->frames.size(); ++i) {
    console.error(fmt::format("  {} {}", i == 0 ? "in" : "called by", report->frames[i]));
  }
  return report->is_timeout ? ExitStatus::Timeout : ExitStatus::Failed;
}

}  // namespace heapattach
