#pragma once

#include <array>
#include <cstdint>

#include "symbols/boehm/arch/path_state.h"
#include "symbols/code/arch/instructions_aarch64.h"

namespace heapattach::boehm::aarch64 {

using namespace heapattach::aarch64;  // NOLINT(google-build-using-namespace): its instructions

inline constexpr unsigned kLink = 30;  // x30 has the return address

struct MachineState : PathState {
  std::array<Expr, 32> registers{};  // x0 to x30, and the stack pointer
};

// The fields of an instruction that most instructions have in the same place.
struct Fields {
  std::uint32_t word = 0;

  [[nodiscard]] constexpr unsigned bits(unsigned from, unsigned count) const {
    return word >> from & ((1U << count) - 1);
  }
  [[nodiscard]] constexpr bool bit(unsigned at) const { return (word >> at & 1U) != 0; }
  [[nodiscard]] constexpr unsigned target() const { return bits(0, 5); }
  [[nodiscard]] constexpr unsigned left() const { return bits(5, 5); }
  [[nodiscard]] constexpr unsigned second() const { return bits(10, 5); }
  [[nodiscard]] constexpr unsigned right() const { return bits(16, 5); }
  [[nodiscard]] constexpr unsigned width() const { return bit(31) ? 8 : 4; }
};

// Models aarch64's registers and instructions without jumps. A method for a class of instructions
// returns false if the instruction is of another class.
class Machine : public MemoryModel {
 public:
  using MemoryModel::MemoryModel;

  // The state at a function's entry, with its arguments in their registers and everything else
  // unknown.
  [[nodiscard]] MachineState at_entry(RemoteAddr entry);

  // Register 31 is 0 for some operands, and the stack pointer for the others.
  Expr value(const MachineState& state, unsigned reg, unsigned width);
  Expr value_or_stack(const MachineState& state, unsigned reg, unsigned width);
  void set(MachineState& state, unsigned reg, Expr value, unsigned width);
  void set_or_stack(MachineState& state, unsigned reg, Expr value, unsigned width);

  bool compute(MachineState& state, Fields fields);
  bool access_memory(MachineState& state, Fields fields);
  // Makes the registers that any other instruction may write unknown.
  void forget_written(MachineState& state, Fields fields);
  void forget_call(MachineState& state);

 private:
  bool address(MachineState& state, Fields fields);
  bool add_number(MachineState& state, Fields fields);
  bool add_register(MachineState& state, Fields fields);
  void add(MachineState& state, Fields fields, Expr left, Expr right, bool is_to_stack);
  bool logic_number(MachineState& state, Fields fields);
  bool logic_register(MachineState& state, Fields fields);
  void logic(MachineState& state, Fields fields, Expr left, Expr right);
  bool move_number(MachineState& state, Fields fields);
  bool move_bits(MachineState& state, Fields fields);
  bool multiply(MachineState& state, Fields fields);
  bool shift_by_register(MachineState& state, Fields fields);
  Expr shifted(Expr value, unsigned kind, unsigned count, unsigned width);
  Expr extended(Expr value, unsigned option);
  Expr disjoint(Expr left, Expr right);

  bool load_literal(MachineState& state, Fields fields);
  bool access_pair(MachineState& state, Fields fields);
  bool access_one(MachineState& state, Fields fields);
  bool access_in_order(MachineState& state, Fields fields);
  Expr moved_base(MachineState& state, Fields fields, std::int64_t distance, unsigned mode);
  void transfer(MachineState& state, Fields fields, Expr at);
};

}  // namespace heapattach::boehm::aarch64
