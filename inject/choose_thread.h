#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attach/process/memory_map.h"
#include "attach/process/process.h"
#include "attach/stop/freeze.h"
#include "inject/filter_verdicts.h"
#include "inject/injection.h"

namespace heapattach {

inline constexpr std::string_view kUnreadableFilter =
    "a seccomp filter, as of a container, may kill it for a system call that heapattach makes; "
    "reading the filter, to see that it does not, takes CAP_SYS_ADMIN outside of the container";

// Facts about a stopped thread that might be borrowed.
struct Candidate {
  pid_t tid = 0;
  RawRegisters registers{};
  std::uint64_t mask = 0;  // of blocked signals
  Filters filters = Filters::None;
  bool is_dispatched = false;         // its system calls go to the program (CallDispatch)
  bool has_stack = true;              // memory below its stack pointer is mapped and writable
  bool is_after_syscall = true;       // the instruction before it makes system calls
  bool has_wide_vectors = false;      // registers that a system call does not preserve
  std::optional<RseqState> sequence;  // nothing if the target's description of it is invalid
  std::optional<RemoteAddr> stub;     // padding from which the thread can return to its code
};

// The places where the stub could be written (find_paddings()).
using Stubs = std::span<const RemoteAddr>;

// The inputs for borrowing a thread of a frozen process.
struct BorrowFrom {
  RemoteControl& control;
  const Process& process;
  const MemoryMap& map;
  Stubs stubs;
  bool rewind = true;  // as in FreezeOptions
};

// Whether the instruction before `at` makes system calls.
[[nodiscard]] bool is_after_syscall(const MemoryReader& memory, RemoteAddr at);

// Returns why the thread must not be borrowed; nothing if it may be.
[[nodiscard]] std::optional<std::string_view> objection_to(const Candidate& candidate);

// How unsuitable a thread is for borrowing; 0 if it is in user code or in an ordinary call.
[[nodiscard]] int reluctance_to(const Candidate& candidate);

// Returns why no function must be called on the thread in the target itself; nothing if one may be.
[[nodiscard]] std::optional<std::string_view> objection_in_place(const Candidate& candidate);

// Borrows a stopped thread to call a function on it. Returns Impossible with the reason if that is
// not possible.
Result<Borrowed> borrow_in_place(const BorrowFrom& from, const FrozenThread& thread);

// The threads that are stopped.
[[nodiscard]] std::vector<const FrozenThread*> stopped_threads(const FrozenView& view);

// Borrows the most suitable of these stopped threads. Returns Denied if seccomp filters forbid all
// of them, and Impossible if none is suitable; the message gives the reason.
Result<Borrowed> choose_thread(const BorrowFrom& from,
                               std::span<const FrozenThread* const> threads);

}  // namespace heapattach
