#include "symbols/boehm/arch/machine_x86_64.h"

#include <array>

namespace heapattach::boehm::x86_64 {

namespace {

// System V x86-64 ABI: where the first arguments are.
constexpr std::array<unsigned, 6> kArguments = {kRdi, kRsi, kRdx, kRcx, 8, 9};

}  // namespace

MachineState Machine::at_entry(RemoteAddr entry) {
  MachineState state;
  state.pc = entry;
  for (Expr& value : state.registers) value = pool_.unknown();
  for (unsigned i = 0; i < kArguments.size(); ++i) {
    state.registers.at(kArguments.at(i)) = pool_.argument(i);
  }
  state.registers[kRsp] = pool_.stack();
  state.frame[0] = {pool_.constant(kReturnToCaller), 8};
  return state;
}

bool Machine::is_general(unsigned reg) {
  return part_of(reg).is_general();
}

Expr Machine::register_value(const MachineState& state, unsigned reg) {
  const RegisterPart part = part_of(reg);
  if (!part.is_general()) return pool_.unknown();
  const Expr whole = state.registers.at(part.number);
  if (part.is_high_byte) return pool_.bit_and(pool_.shift_right(whole, 8), 0xff);
  return pool_.truncate(whole, part.bytes);
}

void Machine::set_register(MachineState& state, unsigned reg, Expr value) {
  const RegisterPart part = part_of(reg);
  if (!part.is_general()) return;
  Expr& whole = state.registers.at(part.number);
  if (part.is_high_byte) {
    whole = pool_.unknown();
  } else if (part.bytes >= 4) {
    whole = pool_.truncate(value, part.bytes);  // writing the low half clears the upper one
  } else {
    whole = pool_.insert(whole, pool_.truncate(value, part.bytes), part.bytes);
  }
}

void Machine::truncate_to_half(MachineState& state, const cs_x86_op& operand) {
  if (operand.type == X86_OP_REG) {
    set_register(state, operand.reg, register_value(state, operand.reg));
  }
}

Expr Machine::effective_address(const MachineState& state, const x86_op_mem& memory) {
  if (memory.segment == X86_REG_FS || memory.segment == X86_REG_GS) return pool_.unknown();
  Expr address = pool_.constant(static_cast<std::uint64_t>(memory.disp));
  if (memory.base == X86_REG_RIP) {
    address = pool_.add(address, pool_.constant(state.pc.value));
  } else if (memory.base != X86_REG_INVALID) {
    address = pool_.add(address, register_value(state, memory.base));
  }
  if (memory.index != X86_REG_INVALID && part_of(memory.index).is_general()) {
    const auto scale = static_cast<std::uint64_t>(memory.scale);
    address = pool_.add(address, pool_.multiply(register_value(state, memory.index), scale));
  }
  return address;
}

Expr Machine::read(const MachineState& state, const cs_x86_op& operand) {
  switch (operand.type) {
    case X86_OP_REG: return register_value(state, operand.reg);
    case X86_OP_IMM:
      return pool_.truncate(pool_.constant(static_cast<std::uint64_t>(operand.imm)), operand.size);
    case X86_OP_MEM: return load(state, effective_address(state, operand.mem), operand.size);
    default: return pool_.unknown();
  }
}

void Machine::write(MachineState& state, const cs_x86_op& operand, Expr value) {
  if (operand.type == X86_OP_REG) set_register(state, operand.reg, value);
  if (operand.type == X86_OP_MEM) {
    store(state, effective_address(state, operand.mem), value, operand.size);
  }
}

void Machine::push(MachineState& state, Expr value) {
  Expr& top = state.registers[kRsp];
  top = pool_.subtract(top, pool_.constant(8));
  store(state, top, value, 8);
}

Expr Machine::pop(MachineState& state) {
  Expr& top = state.registers[kRsp];
  const Expr value = load(state, top, 8);
  top = pool_.add(top, pool_.constant(8));
  return value;
}

// Assumes that only the returned value changes: compilers read another caller-saved register after
// a call only if they know that the callee preserves it (gcc's -fipa-ra).
void Machine::forget_call(MachineState& state) {
  state.registers[kRax] = pool_.unknown();
}

}  // namespace heapattach::boehm::x86_64
