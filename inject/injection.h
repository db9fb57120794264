#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "inject/remote_control.h"

namespace heapattach {

// One thread that stands still, borrowed to make one system call of ours.
struct Borrowed {
  pid_t tid = 0;
  RawRegisters found{};     // as the stop found it, and as it is left again
  RawRegisters way_back{};  // as it goes on by itself if we die
  std::uint64_t mask = 0;   // of its blocked signals
};

// What the call gave.
struct CallResult {
  std::int64_t value = 0;  // or minus an errno
  pid_t born = 0;          // of a call that made a process: its pid as we see it; it stands still
};

// Where to make it, and what.
struct RemoteCall {
  RemoteAddr stub;  // dead padding, zero, at least Stub::size_bytes() of it
  long number = 0;
  std::vector<std::uint64_t> arguments;
  bool makes_process = false;  // it is entered where a child has a way of its own
  std::uint64_t clone_seconds = 0;
  std::chrono::steady_clock::time_point deadline;
};

// Makes `call` on the borrowed thread, and leaves that as it was found, in the same stop, the
// padding zero again. After a failure too, but for a Timeout: the thread is then inside the call
// and out of reach, and the stub stays, for it is the thread's way back.
//
// Each step leaves a state from which the target goes on unharmed if we die there.
Result<CallResult> make_call(RemoteControl& control,
                             const Borrowed& thread,
                             const RemoteCall& call);

}  // namespace heapattach
