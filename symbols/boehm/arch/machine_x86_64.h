#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include <capstone/capstone.h>

#include "symbols/boehm/arch/evaluator.h"
#include "symbols/code/arch/registers_x86_64.h"

namespace heapattach::boehm::x86_64 {

using namespace heapattach::x86_64;  // its registers

// The return address of the analysed function.
constexpr std::uint64_t kReturnToCaller = 0xfee1deadfee1dead;

// The state of registers and of the function's frame on one path.
struct MachineState {
  struct Cell {
    Expr value{};
    unsigned width = 8;
  };
  RemoteAddr pc;
  std::array<Expr, x86_64::kRegisters> registers{};
  std::map<std::int64_t, Cell> frame;  // by offset from the stack pointer at entry
  unsigned depth = 0;                  // of followed calls
  std::map<RemoteAddr, unsigned> visits;
  FunctionPath path;
};

// Models x86-64 registers, operands and memory with expressions instead of numbers.
class Machine {
 public:
  Machine(ExprPool& pool, const CodeSource& source) : pool_(pool), source_(source) {}

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
  Expr load(const MachineState& state, Expr address, unsigned width);
  void store(MachineState& state, Expr address, Expr value, unsigned width);
  void push(MachineState& state, Expr value);
  Expr pop(MachineState& state);
  void forget_call(MachineState& state);
  // Sign-extends a value to `to` bytes; unknown unless the sign bit is known to be 0.
  Expr sign_extended(Expr value, unsigned from, unsigned to);

 private:
  [[nodiscard]] std::optional<std::int64_t> frame_offset(Expr address) const;

  ExprPool& pool_;
  const CodeSource& source_;
};

}  // namespace heapattach::boehm::x86_64
