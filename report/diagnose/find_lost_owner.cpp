// A lock whose owner is not there to unlock it. The owner has ended, or the process was forked
// while a thread of its parent had the lock: the child has a copy of the lock, but not of that
// thread. Only another thread that unlocks it, which POSIX leaves undefined, would end the wait.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "report/diagnose/alike_lines.h"
#include "report/diagnose/finders.h"
#include "report/stacks/diagnosis.h"

namespace heapattach::diagnose {

namespace {

using stacks::ThreadSeen;

// A lock, and the thread that has it.
struct LostLock {
  std::string lock;
  pid_t owner = 0;

  auto operator<=>(const LostLock&) const = default;
};

std::string end_of(const Evidence& evidence, pid_t owner) {
  const auto& facts = evidence.facts;
  const bool is_of_parent =
      facts && std::find(facts->threads_of_parent.begin(), facts->threads_of_parent.end(), owner) !=
                   facts->threads_of_parent.end();
  if (!is_of_parent) return "and that thread has ended";
  return fmt::format(
      "a thread of the parent, process {}: the lock was held when the process was forked, and "
      "nobody in the child can unlock it",
      facts->parent);
}

}  // namespace

void find_lost_owner(const Evidence& evidence, std::vector<Finding>& found) {
  if (!evidence.stacks) return;
  std::map<LostLock, std::vector<const ThreadSeen*>> waiting;
  for (const ThreadSeen& thread : evidence.stacks->threads) {
    if (thread.gone_owner != 0) waiting[{lost_lock(thread), thread.gone_owner}].push_back(&thread);
  }
  for (const auto& [lost, threads] : waiting) {
    AlikeLines lines;
    for (const ThreadSeen* thread : threads) lines.add(*thread);
    const std::string who = threads.size() == 1 ? title_of(*threads.front()) + " waits"
                                                : fmt::format("{} threads wait", threads.size());
    found.push_back({.kind = "lost_lock",
                     .severity = Severity::Fault,
                     .sentence = fmt::format("hung: {} for {}, which thread {} locked, {}", who,
                                             lost.lock, lost.owner, end_of(evidence, lost.owner)),
                     .evidence = lines.lines(),
                     .next = "stacks " + evidence.source});
  }
}

}  // namespace heapattach::diagnose
