// Facts about waits that may be normal: threads wait for a lock that is in use for the moment, as
// workers do that take turns at one queue. They matter if the process is known to hang.

#include "report/diagnose/finders.h"

namespace heapattach::diagnose {

void find_held_up(const Evidence& evidence, std::vector<Finding>& found) {
  if (!evidence.stacks) return;
  for (const std::string& remark : evidence.stacks->remarks) {
    // find_lost_owner has more of these.
    if (remark.ends_with("this process has no such thread")) continue;
    found.push_back({.kind = "waiting",
                     .severity = Severity::Remark,
                     .sentence = remark,
                     .evidence = {},
                     .next = "stacks " + evidence.source});
  }
}

}  // namespace heapattach::diagnose
