#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attach/memory_reader.h"
#include "symbols/stack/machine_state.h"
#include "symbols/stack/module_debug.h"
#include "symbols/stack/stack_record.h"

namespace heapattach::stack {

// One function that has been called and has not returned.
struct Frame {
  MachineState state{};                // as it is, or will be when the frame called returns
  std::optional<std::uint64_t> cfa{};  // where its caller's part of the stack begins
  bool is_exact = false;               // its pc is the next instruction, not one behind a call
  FoundBy found_by = FoundBy::Registers;

  // An address in the instruction that the frame is in: what to look up functions and lines by.
  [[nodiscard]] RemoteAddr pc() const { return {state.pc() - (is_exact ? 0 : 1)}; }
};

struct WalkedStack {
  std::vector<Frame> frames;  // the innermost first
  StackEnd end = StackEnd::Outermost;
};

// Walks a stack of the target as it was captured. Nothing on it is believed: each step must lead
// to code, and upwards, except from the stack of a signal's handler to the one it interrupted.
// `is_exact` says it of the first frame.
WalkedStack unwind(ModuleDebugs& modules,
                   const MemoryReader& memory,
                   const MachineState& innermost,
                   bool is_exact,
                   std::size_t most_frames);

// The registers of a fiber that is put aside, whose stack pointer was saved as `stack_pointer`.
Result<MachineState> suspended_fiber(const MemoryReader& memory, RemoteAddr stack_pointer);

}  // namespace heapattach::stack
