#include "inject/release_others.h"

#include "attach/stop/arch/interrupted_calls.h"
#include "attach/stop/rewind.h"
#include "inject/choose_thread.h"

namespace heapattach {

namespace {

// The registers that restart the system call in which the stop interrupted the thread; nothing if
// it was in no such call.
std::optional<RawRegisters> call_again(RemoteControl& control,
                                       const Process& process,
                                       pid_t tid,
                                       const RawRegisters& at) {
  if (!is_rewindable(at) || !is_after_syscall(control.memory(), instruction_pointer(at))) return {};
  const auto status = process.thread_status(tid);
  const auto mask = control.signal_mask(tid);
  return rewound(at, status && mask ? status->pending_signals & ~*mask : 1);
}

}  // namespace

// Only the threads' registers could have been changed, so errors do no harm: the end of the freeze
// repeats what fails here.
void release_others(RemoteControl& control,
                    const Process& process,
                    const FrozenView& view,
                    pid_t kept,
                    bool rewind) {
  for (const FrozenThread& thread : view.threads) {
    if (thread.tid == kept || !thread.registers) continue;
    auto at = control.registers(thread.tid);
    if (at) recall_call(*at, *thread.registers);
    const auto again = rewind && at ? call_again(control, process, thread.tid, *at) : std::nullopt;
    if (again && !control.set_registers(thread.tid, *again)) continue;
    static_cast<void>(control.detach(thread.tid));
  }
}

}  // namespace heapattach
