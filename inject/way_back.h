#pragma once

#include <cstdint>
#include <optional>

#include "attach/arch/registers.h"
#include "attach/memory/memory_reader.h"

namespace heapattach {

// The kernel's record of a thread's restartable sequences (PTRACE_GET_RSEQ_CONFIGURATION).
struct RseqConfiguration {
  RemoteAddr area;  // the thread's struct rseq; 0: it has none
  std::uint32_t signature = 0;
};

// Whether a thread is in a restartable sequence, and how to restart that.
struct RseqState {
  bool is_inside = false;
  RemoteAddr abort;  // where the kernel would send the thread after an interruption
};

// The state of a thread at `instruction`. Returns Malformed if the kernel would not accept the
// target's description of its sequence: such a thread must not be borrowed.
Result<RseqState> rseq_state(const RseqConfiguration& configuration,
                             RemoteAddr instruction,
                             const MemoryReader& memory);

// The state of an interrupted system call in the registers at a stop.
enum class CallState : std::uint8_t {
  None,         // in user code, or the call has its result
  Restarts,     // -ERESTARTSYS and its relatives: the kernel would repeat it
  RestartsRest  // -ERESTART_RESTARTBLOCK: it would continue with the rest of its time
};
[[nodiscard]] CallState call_state(const RawRegisters& at_stop);

// The registers with which a thread continues if we are no longer there to decide about its
// interrupted call. The thread then does what the kernel does when there is no signal to handle.
// `rewound`, if any, are the registers that restart a call without a timeout that would otherwise
// return EINTR (attach/stop/rewind.h).
[[nodiscard]] RawRegisters way_back(const RawRegisters& at_stop,
                                    const std::optional<RawRegisters>& rewound);

// The registers to set after a thread was borrowed for another call, once it is in a stop again.
[[nodiscard]] RawRegisters after_borrowing(const RawRegisters& found);

}  // namespace heapattach
