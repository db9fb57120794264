#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "inject/arch/stub.h"
#include "inject/remote_control.h"

namespace heapattach {

// One stopped thread, borrowed to make one system call for us.
struct Borrowed {
  pid_t tid = 0;
  RawRegisters found{};     // the registers at the stop, which are restored afterwards
  RawRegisters way_back{};  // the state in which it continues if we die
  std::uint64_t mask = 0;   // the mask of its blocked signals
  // Unused padding with room for the stub, from which the thread can return. It is all zero.
  RemoteAddr stub;
};

// The result of the call.
struct CallResult {
  std::int64_t value = 0;  // the result, or minus an errno
  pid_t born = 0;          // the pid in our view of the process that the call made; it is stopped
};

// Why a thread with syscall user dispatch cannot make our calls.
inline constexpr std::string_view kDispatchedCalls =
    "its system calls are handed to the program (PR_SET_SYSCALL_USER_DISPATCH), which would get "
    "ours, too";

// The call to make.
struct RemoteCall {
  long number = 0;
  std::vector<std::uint64_t> arguments;
  bool makes_process = false;  // use the part of the stub that has code for the new process
  std::uint64_t clone_seconds = 0;
  std::chrono::steady_clock::time_point deadline;
  std::string_view name = kCloneName;  // a text in the stub, at Stub::name_at()
};

// Makes `call` on the borrowed thread, then restores the thread and zeroes the padding during the
// same stop, also after an error. The exception is Timeout: the thread is still in the call, out of
// reach, and the stub stays, because the thread returns through it.
//
// If we die after any step, the target continues unharmed.
Result<CallResult> make_call(RemoteControl& control,
                             const Borrowed& thread,
                             const RemoteCall& call);

}  // namespace heapattach
