#pragma once

#include <cstdint>
#include <optional>

#include "attach/memory_reader.h"
#include "attach/registers.h"

namespace heapattach {

// What the kernel knows of a thread's restartable sequences: PTRACE_GET_RSEQ_CONFIGURATION.
struct RseqConfiguration {
  RemoteAddr area;  // its struct rseq; 0: it has none
  std::uint32_t signature = 0;
};

// Where a restartable sequence that the thread stands in has to be begun again.
struct RseqState {
  bool is_inside = false;
  RemoteAddr abort;  // where the kernel would send it, had it been interrupted
};

// Whether a thread at `instruction` stands in a restartable sequence. Malformed if what the target
// says of it is not what the kernel would accept: such a thread must not be borrowed.
Result<RseqState> rseq_state(const RseqConfiguration& configuration,
                             RemoteAddr instruction,
                             const MemoryReader& memory);

// How an interrupted system call stands in the registers at a stop.
enum class CallState : std::uint8_t {
  None,         // in user code, or the call has its result
  Restarts,     // -ERESTARTSYS and its kin: the kernel would make it again
  RestartsRest  // -ERESTART_RESTARTBLOCK: it would go on with what is left of its time
};
[[nodiscard]] CallState call_state(const RawRegisters& at_stop);

// The registers with which a thread goes on where nobody is left to decide what becomes of its
// interrupted call: as the kernel does when no signal is to be handled. `rewound` are those that
// enter an untimed call again that would otherwise return EINTR (attach/rewind.h), if any.
[[nodiscard]] RawRegisters way_back(const RawRegisters& at_stop,
                                    const std::optional<RawRegisters>& rewound);

}  // namespace heapattach
