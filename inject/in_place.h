#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "inject/arch/in_place_frame.h"
#include "inject/injection.h"

namespace heapattach {

// The outcome of a function called in the target itself.
struct InPlaceOutcome {
  enum class End : std::uint8_t {
    Returned,
    Crashed,    // by signal `number`, which was discarded
    Exits,      // it was about to end the process, which we prevented
    Executes,   // it was about to replace the program, which we prevented
    LeftAlone,  // it did not return in time, and keeps running
    Vanished,   // the process has ended, by signal `number` if that is not 0
  };
  End end = End::Returned;
  std::uint64_t value = 0;  // the function's return value
  int number = 0;
  RemoteAddr fault;                   // the address that it could not access, if known
  std::optional<RawRegisters> where;  // the registers, if the function did not return
};

struct InPlaceCall {
  InPlaceFunction function;
  std::uint64_t handled_signals = 0;  // the mask of the signals that the target handles
  std::chrono::steady_clock::time_point deadline;
  std::function<bool()> is_given_up;  // polled now and then; may be empty
};

// The bytes of padding that the thread's stub needs.
[[nodiscard]] std::size_t in_place_bytes();

// Calls a function on a borrowed thread of the target itself. Restores the thread during the same
// stop: its registers, vector registers, errno and signal mask. Zeroes the padding again.
//
// If we die during the call, the thread goes back to its own code by itself when the function
// returns. If the function crashes or is about to end the process, the thread is pulled out of it,
// and the function's work stays half done. If the function does not return in time, the thread is
// detached and continues in it; the stub stays, because the thread returns through it. Returns an
// error only if the call was never made.
Result<InPlaceOutcome> call_in_place(RemoteControl& control,
                                     const Borrowed& thread,
                                     const MemoryMap& map,
                                     const InPlaceCall& call);

}  // namespace heapattach
