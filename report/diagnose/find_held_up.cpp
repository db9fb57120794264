// Facts about waits that may be normal: threads wait for a lock that is in use for the moment, as
// workers do that take turns at one queue. They matter if the process is known to hang.

#include "report/diagnose/finders.h"

namespace heapattach::diagnose {

void find_held_up(const Evidence& evidence, std::vector<Finding>& found) {
  if (!evidence.stacks) return;
  for (const stacks::Statement& remark : evidence.stacks->remarks) {
    if (remark.kind == stacks::StatementKind::LostLock) continue;  // find_lost_owner reports it
    found.push_back({.kind = "waiting",
                     .severity = Severity::Remark,
                     .sentence = remark.text,
                     .evidence = {},
                     .next = "stacks " + evidence.source});
  }
}

}  // namespace heapattach::diagnose
