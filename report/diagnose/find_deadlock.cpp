// Locks in a circle, and fibers that nothing is left to wake. report/stacks/diagnosis.cpp and
// report/stacks/stuck_fibers.h have the proofs; an idle server passes neither of them.

#include <fmt/format.h>

#include "report/diagnose/finders.h"

namespace heapattach::diagnose {

namespace {

constexpr std::size_t kShownWaiting = 4;

std::string in_function(const std::string& function) {
  return function.empty() ? std::string() : " in " + function;
}

// The threads and fibers that are part of the finding, with what they wait for.
std::vector<std::string> members_of(const stacks::StackReport& report, std::size_t finding) {
  std::vector<std::string> lines;
  std::size_t members = 0;
  const auto add = [&](std::string line) {
    if (report.findings[finding].text.find(line) != std::string::npos) return;  // already said
    if (++members <= kShownWaiting) lines.push_back(std::move(line));
  };
  for (const stacks::ThreadSeen& thread : report.threads) {
    if (thread.finding != finding) continue;
    add(fmt::format("{}{}{}{}", title_of(thread), in_function(thread.function),
                    thread.wait.call.empty() ? "" : ": ", thread.wait.call));
  }
  for (const stacks::FiberSeen& fiber : report.fibers) {
    if (fiber.finding != finding) continue;
    add(fmt::format("{}{} {}", title_of(fiber), in_function(fiber.function),
                    describe_wait(report.fibers, fiber.wait)));
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
