// All threads are stopped, by a signal such as SIGSTOP. Someone may mean it, so it fails no gate.

#include <algorithm>

#include <fmt/format.h>

#include "report/diagnose/finders.h"

namespace heapattach::diagnose {

void find_stopped(const Evidence& evidence, std::vector<Finding>& found) {
  constexpr char kStopped = 'T';
  if (!evidence.is_live || !evidence.stacks || evidence.stacks->threads.empty()) return;
  const auto& threads = evidence.stacks->threads;
  if (std::any_of(threads.begin(), threads.end(),
                  [](const stacks::ThreadSeen& thread) { return thread.state != kStopped; })) {
    return;
  }
  found.push_back({.kind = "stopped",
                   .severity = Severity::Unusual,
                   .sentence = fmt::format("stopped: a signal such as SIGSTOP has stopped the "
                                           "process; kill -CONT {} lets it go on",
                                           evidence.pid),
                   .evidence = {},
                   .next = "stacks " + evidence.source});
}

}  // namespace heapattach::diagnose
