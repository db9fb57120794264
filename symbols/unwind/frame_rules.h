#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include <elfutils/libdw.h>

#include "symbols/unwind/arch/machine_state.h"
#include "symbols/unwind/location.h"
#include "symbols/unwind/module_debug.h"

namespace heapattach::unwind {

// How a frame at one instruction finds its caller, by the program's call frame information. The
// usual rule (a register and an offset) is stored directly, so that a million frames or a hundred
// thousand stacks are cheap; any other rule is an expression.
class FrameRule {
 public:
  FrameRule(ModuleDebug::FramePtr table, std::uint64_t bias, const RegisterNumbers& numbers);

  // The start of the caller's part of the stack; nothing if its inputs are unknown.
  [[nodiscard]] std::optional<std::uint64_t> cfa(const MachineState& state,
                                                 const MemoryReader& memory) const;
  // The value of a register in the caller. The caller's program counter is the return address.
  // Callee-saved registers that the tables do not mention are unchanged.
  [[nodiscard]] std::optional<std::uint64_t> restored(std::size_t number,
                                                      const MachineState& state,
                                                      const MemoryReader& memory,
                                                      std::uint64_t cfa) const;
  [[nodiscard]] bool is_signal_frame() const { return is_signal_; }
  // Whether the tables mark the frame as having no caller.
  [[nodiscard]] bool is_outermost() const {
    return rules_[numbers_.program_counter].how == How::Unknown;
  }
  [[nodiscard]] bool is_usable() const { return is_usable_; }

 private:
  enum class How : std::uint8_t { Unknown, Same, SavedAt, IsCfaPlus, Expression };
  struct Rule {
    How how = How::Unknown;
    std::uint64_t offset = 0;  // from the CFA; the sum may wrap
    std::vector<Dwarf_Op> expression;
  };

  void read_cfa();
  static Rule rule_of(Dwarf_Frame& table, std::size_t number);

  ModuleDebug::FramePtr table_;  // owns the data that some operations reference
  std::uint64_t bias_;
  const RegisterNumbers& numbers_;
  bool is_signal_ = false;
  bool is_usable_ = false;
  std::optional<std::uint64_t> cfa_register_;
  std::uint64_t cfa_offset_ = 0;
  std::vector<Dwarf_Op> cfa_expression_;
  std::array<Rule, MachineState::kMost> rules_;
};

// A cache of the rules of all instructions looked up so far.
class FrameRules {
 public:
  // The rule at `pc`, an address in the target; null if no table covers it.
  const FrameRule* at(ModuleDebug& module, RemoteAddr pc);

 private:
  std::unordered_map<std::uint64_t, std::optional<FrameRule>> rules_;
};

}  // namespace heapattach::unwind
