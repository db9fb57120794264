#include "attach/process/observe.h"

#include <fmt/format.h>

#include "attach/process/blocked_call.h"
#include "attach/process/each_thread.h"

namespace heapattach {

Result<std::vector<ObservedThread>> observe_threads(const Process& process) {
  std::vector<ObservedThread> threads;
  HA_TRY(see_each_thread(process, [&](pid_t tid, const ThreadState& state) {
    ObservedThread seen{.tid = tid,
                        .name = state.name,
                        .state = state.state,
                        .stack_pointer = std::nullopt,
                        .instruction_pointer = std::nullopt};
    if (const auto text = process.read_file(fmt::format("task/{}/syscall", tid))) {
      if (const auto call = parse_blocked_call(*text)) {
        seen.stack_pointer = call->stack_pointer;
        seen.instruction_pointer = call->instruction_pointer;
      }
    }
    threads.push_back(std::move(seen));
  }));
  return threads;
}

}  // namespace heapattach
