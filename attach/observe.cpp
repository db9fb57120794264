#include "attach/observe.h"

#include <fmt/format.h>

#include "attach/blocked_call.h"

namespace heapattach {

Result<std::vector<ObservedThread>> observe_threads(const Process& process) {
  std::vector<ObservedThread> threads;
  const ThreadListing listing = HA_TRY(process.list_threads());
  threads.reserve(listing.tids.size());
  for (const pid_t tid : listing.tids) {
    const auto state = process.thread_state(tid);
    if (!state || state->is_exiting()) continue;
    ObservedThread seen{.tid = tid,
                        .name = state->name,
                        .state = state->state,
                        .stack_pointer = std::nullopt,
                        .instruction_pointer = std::nullopt};
    if (const auto text = process.read_file(fmt::format("task/{}/syscall", tid))) {
      if (const auto call = parse_blocked_call(*text)) {
        seen.stack_pointer = call->stack_pointer;
        seen.instruction_pointer = call->instruction_pointer;
      }
    }
    threads.push_back(std::move(seen));
  }
  if (threads.empty()) {
    return Error{ErrorKind::Gone, fmt::format("process {} exited", process.pid())};
  }
  return threads;
}

}  // namespace heapattach
