#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attach/memory_map.h"
#include "attach/process.h"
#include "inject/injection.h"

namespace heapattach {

// What is known of a stopped thread that might be borrowed.
struct Candidate {
  pid_t tid = 0;
  RawRegisters registers{};
  std::uint64_t mask = 0;             // of blocked signals
  bool is_filtered = false;           // seccomp
  bool has_stack = true;              // memory below its stack pointer is mapped and writable
  bool is_behind_syscall = true;      // the two bytes before rip are the instruction
  std::optional<RseqState> sequence;  // none: what it says of itself makes no sense
};

// Whether the two bytes before `rip` are the instruction.
[[nodiscard]] bool is_behind_syscall(const MemoryReader& memory, RemoteAddr rip);

// Why a thread must not be borrowed; nothing if it may.
[[nodiscard]] std::optional<std::string_view> objection_to(const Candidate& candidate);

// How little one likes to: 0 for a thread in user code or in an ordinary call.
[[nodiscard]] int reluctance_to(const Candidate& candidate);

// Why a function must not be called on it while it has a life of its own; nothing if it may.
[[nodiscard]] std::optional<std::string_view> objection_in_place(const Candidate& candidate);

// The thread `tid`, which stands still, to call a function on; Unsupported with why it may not be.
Result<Borrowed> borrow_in_place(
    RemoteControl& control, const Process& process, const MemoryMap& map, pid_t tid, bool rewind);

// The registers, mask and way back of the thread that is best borrowed, of those in `tids`, which
// all stand still. Denied if each is under a seccomp filter, Unsupported if none will do; the
// message says why. `rewind` as in FreezeOptions.
Result<Borrowed> choose_thread(RemoteControl& control,
                               const Process& process,
                               const MemoryMap& map,
                               std::span<const pid_t> tids,
                               bool rewind);

}  // namespace heapattach
