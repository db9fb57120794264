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
    Crashed,    // by signal `number`, which was thrown away
    Exits,      // it was about to end the process, and was kept from it
    Executes,   // it was about to begin another program, and was kept from it
    LeftAlone,  // it had not come back in time, and goes on by itself
    Vanished,   // the process has ended
  };
  End end = End::Returned;
  std::uint64_t value = 0;  // what it returned
  int number = 0;
  RemoteAddr fault;                   // the address that it could not use, if that is known
  std::optional<RawRegisters> where;  // it stood when it ended otherwise
};

struct InPlaceCall {
  RemoteAddr stub;  // dead padding, zero, of in_place_bytes()
  InPlaceFunction function;
  std::uint64_t handled_signals = 0;  // a mask: those that the target has handlers for
  std::chrono::steady_clock::time_point deadline;
  std::function<bool()> is_given_up;  // asked now and then; may be empty
};

[[nodiscard]] std::size_t in_place_bytes();

// Calls a function on the borrowed thread, which has a life of its own, and leaves that as it was
// found: in the same stop, with its registers, vector registers, errno and mask, the padding zero.
//
// If we die meanwhile, the thread comes back by itself when the function returns. If the function
// crashes, or is about to end the process, the thread is taken out of it; what the function has
// begun then stays half done. If it does not return in time, the thread is detached and goes on in
// it: the stub stays, for it is the thread's way back. An error if it did not come to the call.
Result<InPlaceOutcome> call_in_place(RemoteControl& control,
                                     const Borrowed& thread,
                                     const MemoryMap& map,
                                     const InPlaceCall& call);

}  // namespace heapattach
