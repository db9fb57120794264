#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attach/memory_reader.h"
#include "attach/registers.h"
#include "symbols/unwind/stack_record.h"

namespace heapattach {

// What code is at an address: the file name of its module and the function's symbol, each empty if
// it is not known.
struct CodeName {
  std::string module;
  std::string function;
};
using NameOfCode = std::function<CodeName(RemoteAddr)>;

// A stack as it was walked, and what goes with it.
struct WalkedThread {
  const unwind::StackRecord& stack;
  bool is_in_call = false;         // it waits in a system call
  std::uint64_t unseen_bytes = 0;  // of its stack, behind the outermost frame that was found
};

// Why a function must not be called on a thread with such a stack: it is in the collector, in
// malloc, in the dynamic loader, in a signal's handler, in the midst of the C library, or this
// cannot be told. Nothing if it may.
//
// It is judged by all of its frames: whatever is in progress has one. What starts threads for a
// collector is no matter: it lies below all that the program does.
[[nodiscard]] std::optional<std::string> objection_to_stack(const WalkedThread& thread,
                                                            const NameOfCode& name_of);

// Where a thread stood when its stack was judged.
struct SafePoint {
  pid_t tid = 0;
  RemoteAddr instruction;
  Range function;  // around it, if any place in it is as good: code of the program's own
  RemoteAddr stack_pointer;
  bool is_in_call = false;
  std::vector<std::pair<RemoteAddr, std::uint64_t>> returns;  // of its frames: where, and to where
};

// `memory` is as it was then.
SafePoint safe_point_of(const unwind::StackRecord& stack,
                        const Registers& registers,
                        const Range& function,
                        const MemoryReader& memory);

// Whether the thread stands there still, or again: its frames are the same, so that what was found
// about them is true.
[[nodiscard]] bool is_still_there(const SafePoint& point,
                                  const Registers& now,
                                  const MemoryReader& memory);

}  // namespace heapattach
