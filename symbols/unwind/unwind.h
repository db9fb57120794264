#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "symbols/unwind/arch/epilogues.h"
#include "symbols/unwind/arch/generated.h"
#include "symbols/unwind/arch/machine_state.h"
#include "symbols/unwind/frame_rules.h"
#include "symbols/unwind/module_debug.h"
#include "symbols/unwind/stack_record.h"

namespace heapattach::unwind {

// One active call of a function.
struct Frame {
  MachineState state{};  // current; for a caller, the state after the called function returns
  std::optional<std::uint64_t> cfa{};  // the start of the caller's part of the stack
  bool is_exact = false;  // the pc is the next instruction to run, not the one after a call
  FoundBy found_by = FoundBy::Registers;

  // An address in the frame's current instruction: use it to look up functions and lines.
  [[nodiscard]] RemoteAddr pc() const { return {state.pc() - (is_exact ? 0 : 1)}; }
};

struct WalkedStack {
  std::vector<Frame> frames;  // the innermost first
  // For a very deep stack: the number of frames in the middle that were dropped, and the number of
  // entries of `frames` before the gap.
  std::uint64_t left_out = 0;
  std::size_t left_out_behind = 0;
  StackEnd end = StackEnd::Outermost;
};

// Walks captured stacks of the target. Nothing on a stack is trusted: each step must lead to code
// and move up the stack, except from the stack of a signal handler to the stack that it
// interrupted.
class Unwinder {
 public:
  // `map` shows the code that was generated at run time; it may be null. `generated` are the known
  // functions of such code.
  Unwinder(ModuleDebugs& modules,
           const MemoryReader& memory,
           const MemoryMap* map = nullptr,
           std::span<const GeneratedFunction> generated = {})
      : modules_(modules), memory_(memory), map_(map), generated_(generated) {}

  // `is_exact` applies to the first frame.
  WalkedStack walk(const MachineState& innermost, bool is_exact, const FrameLimits& limits);

 private:
  struct Step;

  std::optional<StackEnd> end_at(const Frame& frame, const std::optional<Step>& step);
  std::optional<Step> next(const Frame& frame);
  bool may_have_frame_pointer(const Frame& frame);
  [[nodiscard]] static bool moves_up(const Frame& frame, const Step& step);
  [[nodiscard]] bool may_follow(const Frame& frame, const Step& step) const;
  bool returns_from_signal(std::uint64_t pc);
  std::optional<Step> by_tables(ModuleDebug& debug, const Frame& frame);
  [[nodiscard]] std::optional<Step> by_signal_frame(const Frame& frame) const;
  std::optional<Step> by_code(ModuleDebug& debug, const Frame& frame);
  [[nodiscard]] std::optional<Step> by_generated(const GeneratedFunction& function,
                                                 const Frame& frame) const;
  [[nodiscard]] bool is_code(RemoteAddr at) const;
  [[nodiscard]] StackEnd why_not(const Frame& frame, RemoteAddr next, StackEnd otherwise);
  bool may_have_called(RemoteAddr at, const Frame& frame);
  bool has_switched_stack(RemoteAddr pc);
  std::optional<Step> by_frame_pointer(const Frame& frame);
  std::optional<Step> by_scan(const Frame& frame);
  [[nodiscard]] std::uint64_t code_address(std::uint64_t word) const;
  [[nodiscard]] std::optional<std::uint64_t> load(std::uint64_t at) const;

  ModuleDebugs& modules_;
  const MemoryReader& memory_;
  const MemoryMap* map_;
  std::span<const GeneratedFunction> generated_;
  FrameRules rules_;
  Epilogues epilogues_;
  std::unordered_map<std::uint64_t, bool>
      signal_returns_;                                // whether a handler returns to an address
  std::unordered_map<std::uint64_t, bool> switches_;  // whether the function at it switches stacks
  int signal_frames_ = 0;
};

// The registers of a suspended fiber whose saved stack pointer is `stack_pointer`.
Result<MachineState> suspended_fiber(const MemoryReader& memory,
                                     RemoteAddr stack_pointer,
                                     std::uint16_t machine = kOwnProcessor);

}  // namespace heapattach::unwind
