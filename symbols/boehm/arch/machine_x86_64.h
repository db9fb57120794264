#pragma once

#include <array>
#include <cstdint>

#include <capstone/capstone.h>

#include "symbols/boehm/arch/path_state.h"
#include "symbols/code/arch/registers_x86_64.h"

namespace heapattach::boehm::x86_64 {

using namespace heapattach::x86_64;  // NOLINT(google-build-using-namespace): its registers

struct MachineState : PathState {
  std::array<Expr, x86_64::kRegisters> registers{};
};

// Models x86-64 registers, operands and memory with expressions instead of numbers.
class Machine : public MemoryModel {
 public:
  using MemoryModel::MemoryModel;

  // The state at a function's entry, with its arguments in their registers and everything else
  // unknown.
  [[nodiscard]] MachineState at_entry(RemoteAddr entry);
  [[nodiscard]] static bool is_general(unsigned reg);  // not a vector or segment register

  Expr read(const MachineState& state, const cs_x86_op& operand);
  void write(MachineState& state, const cs_x86_op& operand, Expr value);
  Expr register_value(const MachineState& state, unsigned reg);
  // Like the processor, a 32-bit write clears the upper half, and a smaller one leaves the other
  // bits unchanged.
  void set_register(MachineState& state, unsigned reg, Expr value);
  void truncate_to_half(MachineState& state, const cs_x86_op& operand);
  Expr effective_address(const MachineState& state, const x86_op_mem& memory);
  void push(MachineState& state, Expr value);
  Expr pop(MachineState& state);
  void forget_call(MachineState& state);
};

}  // namespace heapattach::boehm::x86_64
