#include "symbols/boehm/machine.h"

#include <array>

namespace heapattach::boehm {

namespace {

constexpr unsigned kNoRegister = 16;
// The general register that a register is part of, and which bytes of it.
struct RegisterPart {
  unsigned number = kNoRegister;
  unsigned width = 8;
  bool is_high_byte = false;  // ah, bh, ch, dh
};

struct RegisterNames {
  x86_reg whole, half, quarter, low, high;
};
constexpr std::array<RegisterNames, 16> kRegisters = {{
    {X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH},
    {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
    {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
    {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
    {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL, X86_REG_INVALID},
    {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL, X86_REG_INVALID},
    {X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL, X86_REG_INVALID},
    {X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL, X86_REG_INVALID},
    {X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B, X86_REG_INVALID},
    {X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B, X86_REG_INVALID},
    {X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B, X86_REG_INVALID},
    {X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B, X86_REG_INVALID},
    {X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B, X86_REG_INVALID},
    {X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B, X86_REG_INVALID},
    {X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B, X86_REG_INVALID},
    {X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B, X86_REG_INVALID},
}};
// No accessor needs more; any further cell is unknown.
constexpr std::size_t kMostCells = 256;
// System V x86-64 ABI: where the first arguments are.
constexpr std::array kArguments = {7U, 6U, 2U, 1U, 8U, 9U};

RegisterPart part_of(unsigned reg) {
  if (reg == X86_REG_INVALID) return {};
  for (unsigned i = 0; i < kRegisters.size(); ++i) {
    const RegisterNames& names = kRegisters.at(i);
    if (reg == names.whole) return {i, 8};
    if (reg == names.half) return {i, 4};
    if (reg == names.quarter) return {i, 2};
    if (reg == names.low) return {i, 1};
    if (reg == names.high) return {i, 1, true};
  }
  return {};
}

void forget_overlapping(MachineState& state, std::int64_t offset, unsigned width) {
  std::erase_if(state.frame, [&](const auto& entry) {
    return entry.first < offset + static_cast<std::int64_t>(width) &&
           offset < entry.first + static_cast<std::int64_t>(entry.second.width);
  });
}

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
  return part_of(reg).number != kNoRegister;
}

Expr Machine::register_value(const MachineState& state, unsigned reg) {
  const RegisterPart part = part_of(reg);
  if (part.number == kNoRegister) return pool_.unknown();
  const Expr whole = state.registers.at(part.number);
  if (part.is_high_byte) return pool_.bit_and(pool_.shift_right(whole, 8), 0xff);
  return pool_.truncate(whole, part.width);
}

void Machine::set_register(MachineState& state, unsigned reg, Expr value) {
  const RegisterPart part = part_of(reg);
  if (part.number == kNoRegister) return;
  Expr& whole = state.registers.at(part.number);
  if (part.is_high_byte) {
    whole = pool_.unknown();
  } else if (part.width >= 4) {
    whole = pool_.truncate(value, part.width);  // writing the low half clears the upper one
  } else {
    whole = pool_.insert(whole, pool_.truncate(value, part.width), part.width);
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
  if (memory.index != X86_REG_INVALID && part_of(memory.index).number != kNoRegister) {
    const auto scale = static_cast<std::uint64_t>(memory.scale);
    address = pool_.add(address, pool_.multiply(register_value(state, memory.index), scale));
  }
  return address;
}

// The offset in the frame, if the address is the stack pointer at entry plus a constant.
std::optional<std::int64_t> Machine::frame_offset(Expr address) const {
  const ExprNode& node = pool_.at(address);
  if (node.op == ExprOp::Stack) return 0;
  if (node.op != ExprOp::Sum || node.terms.size() != 1 || node.terms[0].factor != 1) {
    return std::nullopt;
  }
  if (pool_.at(node.terms[0].of).op != ExprOp::Stack) return std::nullopt;
  // No frame is larger, and nothing can overflow.
  constexpr std::int64_t kFarthest = std::int64_t{1} << 31;
  const auto offset = static_cast<std::int64_t>(node.constant);
  if (offset < -kFarthest || offset > kFarthest) return std::nullopt;
  return offset;
}

Expr Machine::load(const MachineState& state, Expr address, unsigned width) {
  if (const auto offset = frame_offset(address)) {
    const auto cell = state.frame.find(*offset);
    if (cell == state.frame.end() || cell->second.width < width) return pool_.unknown();
    return pool_.truncate(cell->second.value, width);
  }
  const auto constant = pool_.constant_of(address);
  if (constant && width == 8) {
    if (const auto word = source_.constant(RemoteAddr{*constant})) return pool_.constant(*word);
  }
  return pool_.load(address, width);
}

void Machine::store(MachineState& state, Expr address, Expr value, unsigned width) {
  value = pool_.truncate(value, width);
  if (const auto offset = frame_offset(address)) {
    forget_overlapping(state, *offset, width);
    if (state.frame.size() < kMostCells) state.frame[*offset] = {value, width};
  } else {
    state.path.stores.push_back({address, value, width});
  }
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

// The same number in `to` bytes, sign-extended. Exact only if the sign bit is known to be 0.
Expr Machine::sign_extended(Expr value, unsigned from, unsigned to) {
  if (from == 0 || from > 8) return pool_.unknown();
  if (const auto constant = pool_.constant_of(value)) {
    const unsigned up = 64 - 8 * from;
    const auto wide = static_cast<std::int64_t>(*constant << up) >> up;
    return pool_.truncate(pool_.constant(static_cast<std::uint64_t>(wide)), to);
  }
  const std::uint64_t sign = std::uint64_t{1} << (8 * from - 1);
  if ((pool_.possible_bits(value) & sign) == 0) return value;
  return pool_.insert(pool_.unknown(), value, from);
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

}  // namespace heapattach::boehm
