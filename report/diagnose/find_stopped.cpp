// Nothing in the process runs, because of a signal such as SIGSTOP or a frozen control group.
// Someone may mean it, so it fails no gate.

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "report/diagnose/finders.h"

namespace heapattach::diagnose {

namespace {

std::string why_stopped(const Evidence& evidence) {
  constexpr char kStopped = 'T';
  if (evidence.facts && !evidence.facts->frozen_group.empty()) {
    return fmt::format(
        "stopped: the control group {} is frozen, as by 'docker pause' or 'systemctl "
        "freeze'; 'docker unpause' or 'systemctl thaw' lets the process go on",
        evidence.facts->frozen_group);
  }
  if (!evidence.stacks || evidence.stacks->threads.empty()) return {};
  const auto& threads = evidence.stacks->threads;
  if (std::any_of(threads.begin(), threads.end(),
                  [](const stacks::ThreadSeen& thread) { return thread.state != kStopped; })) {
    return {};
  }
  return fmt::format(
      "stopped: a signal such as SIGSTOP has stopped the process; kill -CONT {} lets it go on",
      evidence.pid);
}

}  // namespace

void find_stopped(const Evidence& evidence, std::vector<Finding>& found) {
  std::string why = evidence.is_live ? why_stopped(evidence) : std::string();
  if (why.empty()) return;
  found.push_back({.kind = "stopped",
                   .severity = Severity::Unusual,
                   .sentence = std::move(why),
                   .evidence = {},
                   .next = "stacks " + evidence.source});
}

}  // namespace heapattach::diagnose
