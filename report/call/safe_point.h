#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attach/arch/registers.h"
#include "attach/memory/memory_reader.h"
#include "symbols/unwind/stack_record.h"

namespace heapattach {

// The code at an address: the file name of its module and the function's symbol, each empty if
// unknown.
struct CodeName {
  std::string module;
  std::string function;
};
using NameOfCode = std::function<CodeName(RemoteAddr)>;

// A walked stack, with facts about its thread.
struct WalkedThread {
  const unwind::StackRecord& stack;
  bool is_in_call = false;         // the thread waits in a system call
  std::uint64_t unseen_bytes = 0;  // bytes of its stack above the outermost frame that was found
};

// The reason not to call a function on a thread with this stack, if there is one: the thread is in
// the collector, in malloc, in the dynamic loader, in a signal handler or in the middle of the C
// library, or its stack does not show where it is.
//
// All frames count, because anything in progress has a frame. The collector's function that starts
// threads does not count, because the whole program runs above it.
[[nodiscard]] std::optional<std::string> objection_to_stack(const WalkedThread& thread,
                                                            const NameOfCode& name_of);

// The position of a thread when its stack was checked.
struct SafePoint {
  pid_t tid = 0;
  RemoteAddr instruction;
  // The function that contains `instruction`, if the function is the program's own: every position
  // in it is equally safe.
  Range function;
  RemoteAddr stack_pointer;
  bool is_in_call = false;
  std::vector<std::pair<RemoteAddr, std::uint64_t>>
      returns;  // the location and value of each frame's return address
};

// `memory` must be from the same moment as `stack` and `registers`.
SafePoint safe_point_of(const unwind::StackRecord& stack,
                        const Registers& registers,
                        const Range& function,
                        const MemoryReader& memory);

// Whether the thread is still (or again) in the same frames, so that the check is still valid.
[[nodiscard]] bool is_still_there(const SafePoint& point,
                                  const Registers& now,
                                  const MemoryReader& memory);

}  // namespace heapattach
