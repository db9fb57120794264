// A lock whose owner has ended without unlocking it. Only another thread that unlocks it, which
// POSIX leaves undefined, would end the wait.

#include <fmt/format.h>

#include "report/diagnose/finders.h"

namespace heapattach::diagnose {

void find_lost_owner(const Evidence& evidence, std::vector<Finding>& found) {
  if (!evidence.stacks) return;
  for (const stacks::ThreadSeen& thread : evidence.stacks->threads) {
    if (thread.gone_owner == 0) continue;
    found.push_back(
        {.kind = "lost_lock",
         .severity = Severity::Fault,
         .sentence =
             fmt::format("hung: {} waits for {}, which thread {} locked, and that thread has ended",
                         title_of(thread),
                         thread.wait.mutex.empty()
                             ? fmt::format("a {}", thread.awaited_kind)
                             : fmt::format("the {} {}", thread.awaited_kind, thread.wait.mutex),
                         thread.gone_owner),
         .evidence = {fmt::format("it is in {}",
                                  thread.function.empty() ? thread.wait.call : thread.function)},
         .next = "stacks " + evidence.source});
  }
}

}  // namespace heapattach::diagnose
