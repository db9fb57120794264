// What is wrong with a process, for people:
//
//   leaking: 3759 objects of 48 bytes, 176.2 KiB, to which no reference was found
//       3759 objects of 48 bytes: 176.2 KiB, for instance 0x5581e3b4c2b0
//   also: most of the heap: …
//       …
//   looked at: 3 threads, 2.1 MiB of malloc's heap, leaks, 5.0 MiB of resident memory, limits
//   not looked at: …
//   paused for: 2.9 ms
//   next: heapattach leaks --confirm 2s 4711
//
// At most three findings are shown. Of several processes, each has one line:
//
//   4711 (web): deadlock: …

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/format/write/diagnosis_formats.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

constexpr std::size_t kShownFindings = 3;

std::string evidence_lines(const diagnose::Finding& finding) {
  std::string text;
  for (const std::string& line : finding.evidence) {
    text += fmt::format("    {}\n", terminal_text(line));
  }
  return text;
}

std::string one_line(const DiagnosisReport& report) {
  const std::string name =
      report.name.empty() ? std::string() : fmt::format(" ({})", terminal_text(report.name));
  return fmt::format("{}{}: {}\n", report.evidence.pid, name, verdict_line(report.verdict));
}

}  // namespace

std::string verdict_line(const diagnose::Verdict& verdict) {
  return terminal_text(verdict.sentence);
}

std::string format_diagnosis_text(const DiagnosisReport& report, const TextStyle& style) {
  if (report.is_one_of_several) return one_line(report);
  const auto& findings = report.verdict.findings;
  const std::string line = verdict_line(report.verdict);
  std::string text = style.with_colour ? fmt::format("\x1b[1m{}\x1b[0m\n", line) : line + '\n';
  for (std::size_t i = 0; i < std::min(findings.size(), kShownFindings); ++i) {
    if (i > 0) text += fmt::format("also: {}\n", terminal_text(findings[i].sentence));
    text += evidence_lines(findings[i]);
  }
  if (findings.size() > kShownFindings) {
    text += fmt::format("… {} more: -f json has all\n", findings.size() - kShownFindings);
  }
  text += '\n';
  // The verdict on a healthy process says so itself.
  if (!report.verdict.looked_at.empty() && report.verdict.kind != "healthy") {
    text +=
        fmt::format("looked at: {}\n",
                    terminal_text(fmt::format("{}", fmt::join(report.verdict.looked_at, ", "))));
  }
  for (const std::string& what : report.evidence.not_examined) {
    text += fmt::format("not looked at: {}\n", terminal_text(what));
  }
  if (report.evidence.is_live && report.evidence.pause_ms) {
    text += fmt::format("paused for: {:.1f} ms\n", *report.evidence.pause_ms);
  }
  if (report.verdict.next.empty()) return text;
  return text + fmt::format("next: heapattach {}\n", terminal_text(report.verdict.next));
}

}  // namespace heapattach
