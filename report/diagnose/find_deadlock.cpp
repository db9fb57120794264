// Locks in a circle, and fibers that nothing is left to wake. report/stacks/diagnosis.cpp and
// report/stacks/stuck_fibers.h have the proofs; an idle server passes neither of them.

#include <string_view>

#include <fmt/format.h>

#include "report/diagnose/finders.h"

namespace heapattach::diagnose {

namespace {

constexpr std::size_t kShownWaiting = 4;

std::string in_function(const std::string& function) {
  return function.empty() ? std::string() : " in " + function;
}

// "4 fibers in f wait …" has the words of "fiber in f waits …".
std::string in_plural(std::string words) {
  constexpr std::string_view kOne = " waits ";
  const std::size_t at = words.find(kOne);
  return at == std::string::npos ? words : words.replace(at, kOne.size(), " wait ");
}

// The threads and fibers that are part of the finding, with what they wait for, unless its text
// says that already.
std::vector<std::string> members_of(const stacks::StackReport& report, std::size_t finding) {
  const std::string& text = report.findings[finding].text;
  std::vector<std::string> lines;
  std::size_t members = 0;
  const auto add = [&](const std::string& title, const std::string& place,
                       const std::string& wait) {
    const bool is_said = text.find(title + place + " waits ") != std::string::npos ||
                         text.find(in_plural(place + wait)) != std::string::npos;
    if (!is_said && ++members <= kShownWaiting) lines.push_back(title + place + wait);
  };
  for (const stacks::ThreadSeen& thread : report.threads) {
    if (thread.finding != finding) continue;
    const std::string& call = thread.wait.call;
    add(title_of(thread), in_function(thread.function), call.empty() ? call : ": " + call);
  }
  for (const stacks::FiberSeen& fiber : report.fibers) {
    if (fiber.finding != finding) continue;
    add(title_of(fiber), in_function(fiber.function),
        " " + describe_wait(report.fibers, fiber.wait));
  }
  if (members > kShownWaiting) lines.push_back(fmt::format("… {} more", members - kShownWaiting));
  return lines;
}

}  // namespace

void find_deadlock(const Evidence& evidence, std::vector<Finding>& found) {
  if (!evidence.stacks) return;
  const auto& findings = evidence.stacks->findings;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (findings[i].kind != stacks::StatementKind::Deadlock) continue;
    found.push_back({.kind = "deadlock",
                     .severity = Severity::Fault,
                     .sentence = findings[i].text,
                     .evidence = members_of(*evidence.stacks, i),
                     .next = "stacks " + evidence.source});
  }
}

}  // namespace heapattach::diagnose
