#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "inject/in_place_frame.h"
#include "inject/injection.h"

namespace heapattach {

// How a function that was called in the target itself ended.
struct InPlaceOutcome {
  enum class End : std::uint8_t {
    Returned,
    Crashed,    // by signal `number`, which was discarded
    Exits,      // it was about to end the process; prevented
    Executes,   // it was about to start another program; prevented
    LeftAlone,  // it had not returned in time, and continues by itself
    Vanished,   // the process has ended
  };
  End end = End::Returned;
  std::uint64_t value = 0;  // its return value
  int number = 0;
  RemoteAddr fault;                   // the address that it could not access, if known
  std::optional<RawRegisters> where;  // where it was when it ended otherwise
};

struct InPlaceCall {
  RemoteAddr stub;  // dead padding, zero, of in_place_bytes()
  InPlaceFunction function;
  std::uint64_t handled_signals = 0;  // a mask: the signals that the target handles
  std::chrono::steady_clock::time_point deadline;
  std::function<bool()> is_given_up;  // polled now and then; may be empty
};

[[nodiscard]] std::size_t in_place_bytes();

// Calls a function on a borrowed thread of the target itself, and restores the thread in the same
// stop: registers, vector registers, errno and mask, and the padding zero.
//
// If we die meanwhile, the thread returns by itself when the function does. If the function crashes
// or is about to end the process, the thread is taken out of it; what the function has begun then
// stays half done. If it does not return in time, the thread is detached and continues in it: the
// stub stays, because it is the thread's way back. An error if the call was never made.
Result<InPlaceOutcome> call_in_place(RemoteControl& control,
                                     const Borrowed& thread,
                                     const MemoryMap& map,
                                     const InPlaceCall& call);

}  // namespace heapattach
