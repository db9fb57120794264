// Every thread waits for another one of the process, without a time limit. No other process can
// wake them, and the program handles no signals: nothing can ever end that. A program that waits
// for work has a thread that waits for something outside: a socket, a pipe, a timer, a signal.

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "report/diagnose/alike_lines.h"
#include "report/diagnose/finders.h"

namespace heapattach::diagnose {

namespace {

using stacks::ThreadSeen;

// The functions of the C library that wait for a thread, by a part of their names.
struct WaitFunction {
  std::string_view part;
  std::string_view words;
};
constexpr std::array kWaitFunctions{
    WaitFunction{"pthread_cond_", "on a condition variable"},
    WaitFunction{"pthread_mutex_", "at a mutex"},
    WaitFunction{"pthread_rwlock_", "at a read-write lock"},
    WaitFunction{"pthread_barrier_", "at a barrier"},
    WaitFunction{"pthread_join", "for the end of a thread"},
    WaitFunction{"pthread_clockjoin", "for the end of a thread"},
    WaitFunction{"sem_", "on a semaphore"},
};

// " in work (work.c:12), on a condition variable"; with the system call if the stack does not show
// the reason.
std::string wait_of(const stacks::StackReport& report, const ThreadSeen& thread) {
  std::string text = thread.function.empty() ? std::string() : " in " + thread.function;
  for (const stacks::NamedFrame& frame : named(report, thread.stack).frames) {
    if (frame.is_own) break;
    const auto found =
        std::find_if(kWaitFunctions.begin(), kWaitFunctions.end(), [&](const WaitFunction& one) {
          return frame.function.find(one.part) != std::string::npos;
        });
    if (found != kWaitFunctions.end()) return fmt::format("{}, {}", text, found->words);
  }
  return thread.wait.call.empty() ? text : fmt::format("{}: {}", text, thread.wait.call);
}

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
  for (const ThreadSeen& thread : report.threads) lines.add(thread, wait_of(report, thread));
  hung.evidence = lines.lines();
  found.push_back(std::move(hung));
}

}  // namespace heapattach::diagnose
