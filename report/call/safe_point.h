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

// The code at an address: the file name of its module and the function's symbol, each empty if
// unknown.
struct CodeName {
  std::string module;
  std::string function;
};
using NameOfCode = std::function<CodeName(RemoteAddr)>;

// A stack that was walked, and the facts about its thread.
struct WalkedThread {
  const unwind::StackRecord& stack;
  bool is_in_call = false;         // it waits in a system call
  std::uint64_t unseen_bytes = 0;  // of its stack, above the outermost frame that was found
};

// Why a function must not be called on a thread with such a stack: it is in the collector, in
// malloc, in the dynamic loader, in a signal handler, in the middle of the C library, or this is
// unknown. Nothing if it may.
//
// All of its frames count: whatever is in progress has one. A collector's function that starts
// threads does not matter: it is below everything that the program does.
[[nodiscard]] std::optional<std::string> objection_to_stack(const WalkedThread& thread,
                                                            const NameOfCode& name_of);

// Where a thread was when its stack was checked.
struct SafePoint {
  pid_t tid = 0;
  RemoteAddr instruction;
  Range function;  // around it, if every position in it is as good: code of the program's own
  RemoteAddr stack_pointer;
  bool is_in_call = false;
  std::vector<std::pair<RemoteAddr, std::uint64_t>>
      returns;  // of its frames: the location and value of the return address
};

// `memory` is that of the same moment.
SafePoint safe_point_of(const unwind::StackRecord& stack,
                        const Registers& registers,
                        const Range& function,
                        const MemoryReader& memory);

// Whether the thread is still there, or again: its frames are the same, so the check is still
// valid.
[[nodiscard]] bool is_still_there(const SafePoint& point,
                                  const Registers& now,
                                  const MemoryReader& memory);

}  // namespace heapattach
