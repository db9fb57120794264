#include <string>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "report/cli/reports.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

// Unchanged, except on a terminal, which text from the target must not control.
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

std::string text_of(const CallReport& report, bool on_terminal, bool is_silent) {
  std::string text = shown(report.output, on_terminal);
  if (!report.value || is_silent) return text;
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

Answer answer_of(const Job& job, const CallReport& report) {
  pass_on_errors(report, job.console);
  for (const std::string& note : report.notes) job.console.error(note);
  const bool on_terminal = job.options.output.empty() && ::isatty(STDOUT_FILENO) == 1;
  Answer answer;
  answer.text = text_of(report, on_terminal, job.options.returns == Returns::None);
  if (report.value) return answer;
  answer.remarks.push_back(report.ending);
  for (std::size_t i = 0; i < report.frames.size(); ++i) {
    answer.remarks.push_back(fmt::format("  {} {}", i == 0 ? "in" : "called by", report.frames[i]));
  }
  answer.status = report.is_timeout ? ExitStatus::Timeout : ExitStatus::Failed;
  return answer;
}

}  // namespace

// Passes on the function's output, and its result or how it ended.
Result<Answer> run_call(Job& job) {
  return answer_of(job, HA_TRY(job.sources.call(job.options, job.deadline, job.console)));
}

// Passes on the result of Ruby code, or the exception that ended it.
Result<Answer> run_ruby_code(Job& job) {
  return answer_of(job, HA_TRY(job.sources.ruby(job.options, job.deadline, job.console)));
}

}  // namespace heapattach
