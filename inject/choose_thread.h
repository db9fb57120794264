#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attach/memory_map.h"
#include "attach/process.h"
#include "inject/injection.h"

namespace heapattach {

// The facts about a stopped thread that might be borrowed.
struct Candidate {
  pid_t tid = 0;
  RawRegisters registers{};
  std::uint64_t mask = 0;             // of blocked signals
  bool is_filtered = false;           // seccomp
  bool has_stack = true;              // memory below its stack pointer is mapped and writable
  bool is_after_syscall = true;       // the two bytes before rip are the instruction
  std::optional<RseqState> sequence;  // none: its own description makes no sense
};

// Whether the two bytes before `rip` are the instruction.
[[nodiscard]] bool is_after_syscall(const MemoryReader& memory, RemoteAddr rip);

// Why a thread must not be borrowed; nothing if it may.
[[nodiscard]] std::optional<std::string_view> objection_to(const Candidate& candidate);

// How unsuitable a thread is: 0 in user code or in an ordinary call.
[[nodiscard]] int reluctance_to(const Candidate& candidate);

// Why a function must not be called on it in the target itself; nothing if it may.
[[nodiscard]] std::optional<std::string_view> objection_in_place(const Candidate& candidate);

// The stopped thread `tid`, borrowed to call a function on; Unsupported with the reason if that is
// not possible.
Result<Borrowed> borrow_in_place(
    RemoteControl& control, const Process& process, const MemoryMap& map, pid_t tid, bool rewind);

// The most suitable of the stopped threads `tids`. Denied if each is under a seccomp filter,
// Unsupported if none is suitable; the message has the reason. `rewind` as in FreezeOptions.
Result<Borrowed> choose_thread(RemoteControl& control,
                               const Process& process,
                               const MemoryMap& map,
                               std::span<const pid_t> tids,
                               bool rewind);

}  // namespace heapattach
