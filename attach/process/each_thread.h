#pragma once

#include <fmt/format.h>

#include "attach/process/process.h"

namespace heapattach {

// Calls `see(tid, state)` for each thread of a process that is not about to end. Gone if there is
// no such thread.
template <class See>
Result<void> see_each_thread(const Process& process, See see) {
  const ThreadListing listing = HA_TRY(process.list_threads());
  bool any = false;
  for (const pid_t tid : listing.tids) {
    const auto state = process.thread_state(tid);
    if (!state || state->is_exiting()) continue;
    see(tid, *state);
    any = true;
  }
  if (!any) return Error{ErrorKind::Gone, fmt::format("process {} exited", process.pid())};
  return {};
}

}  // namespace heapattach
