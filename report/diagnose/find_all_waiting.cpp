// Every thread waits for another one of the process, without a time limit. No other process can
// wake them, and the program handles no signals: nothing can ever end that. A program that waits
// for work has a thread that waits for something outside: a socket, a pipe, a timer, a signal.

#include <algorithm>

#include <fmt/format.h>

#include "report/diagnose/alike_lines.h"
#include "report/diagnose/finders.h"

namespace heapattach::diagnose {

namespace {

std::string waiting_text(std::size_t threads) {
  const bool is_one = threads == 1;
  return fmt::format(
      "hung: {} for another thread of the process, without a time limit, and nobody is left to "
      "wake {}",
      is_one ? "the only thread waits" : fmt::format("all {} threads wait", threads),
      is_one ? "it" : "them");
}

}  // namespace

void find_all_waiting(const Evidence& evidence, std::vector<Finding>& found) {
  if (!evidence.stacks) return;
  const stacks::StackReport& report = *evidence.stacks;
  const bool has_deadlock = std::any_of(
      report.findings.begin(), report.findings.end(),
      [](const stacks::Statement& one) { return one.kind == stacks::StatementKind::Deadlock; });
  const bool all_wait =
      !report.threads.empty() &&
      std::all_of(report.threads.begin(), report.threads.end(),
                  [](const stacks::ThreadSeen& thread) { return thread.needs_another_thread; });
  const bool handles_no_signal = report.caught_signals && *report.caught_signals == 0;
  const bool has_lost_lock =
      std::any_of(report.threads.begin(), report.threads.end(),
                  [](const stacks::ThreadSeen& thread) { return thread.gone_owner != 0; });
  if (has_deadlock || has_lost_lock || !all_wait || !handles_no_signal) return;
  Finding hung{.kind = "all_waiting",
               .severity = Severity::Fault,
               .sentence = waiting_text(report.threads.size()),
               .evidence = {},
               .next = "stacks " + evidence.source};
  AlikeLines lines;
  for (const stacks::ThreadSeen& thread : report.threads) lines.add(thread);
  hung.evidence = lines.lines();
  found.push_back(std::move(hung));
}

}  // namespace heapattach::diagnose
