// The compiler's allocators look like this in a default build; other builds use other registers:
//
//     xor  %eax,%eax
//     mov  %eax,%edi
//     add  $0x18,%rdi              the size
//     call __crystal_malloc64
//     mov  %rax,0x8(%rsp)          the fresh object, spilled
//     …    call memset             zeroing; initial values of fields
//     mov  0x8(%rsp),%rcx
//     movl $0xc4,(%rcx)            the type id
//     …    call initialize
//     mov  0x20(%rsp),%rax
//     ret
//
// Since Crystal 1.16 a build without --release loads the id instead:
//
//     lea  Session:type_id(%rip),%rcx
//     mov  (%rcx),%ecx
//     mov  %ecx,(%rax)

#include <array>
#include <utility>

#include "symbols/code/arch/registers_x86_64.h"
#include "symbols/crystal/arch/allocation_follower.h"
#include "symbols/crystal/arch/processors.h"

namespace heapattach::crystal::x86_64 {
namespace {

using namespace heapattach::x86_64;  // NOLINT(google-build-using-namespace): its registers

constexpr std::array<unsigned, 9> kCallerSaved = {kRax, kRcx, kRdx, kRsi, kRdi, 8, 9, 10, 11};
constexpr AllocationFollower::Registers kNames{.stack_pointer = kRsp,
                                               .frame_pointer = kRbp,
                                               .first_argument = kRdi,
                                               .result = kRax,
                                               .caller_saved = kCallerSaved};

class Follower : public AllocationFollower {
 public:
  Follower(Range code, const CallTarget& target, const ConstantAt& constant)
      : AllocationFollower(code, target, constant, kNames) {}

  std::vector<AllocationSite> run(const Disassembler& disassembler,
                                  std::span<const std::byte> code,
                                  RemoteAddr at);

 private:
  void step(const cs_insn& insn);
  void copy(const cs_x86_op& to, const cs_x86_op& from);
  void add(const cs_x86_op& to, const cs_x86_op& by, bool subtract);
  void forget_written(const cs_insn& insn);
  void set(const RegisterPart& reg, Value value);
  void move_stack(std::uint64_t by) {
    registers_[kRsp].number += by;
    note_frame();
  }

  [[nodiscard]] Value value_of(const cs_x86_op& operand) const;
  [[nodiscard]] Value address_of(const cs_x86_op& operand) const;
  [[nodiscard]] static std::optional<RemoteAddr> goal_of(const cs_x86& operands);

  std::uint64_t next_ = 0;  // after the current instruction
};

std::optional<RemoteAddr> Follower::goal_of(const cs_x86& operands) {
  const bool is_direct = operands.op_count == 1 && operands.operands[0].type == X86_OP_IMM;
  if (!is_direct) return std::nullopt;
  return RemoteAddr{static_cast<std::uint64_t>(operands.operands[0].imm)};
}

Value Follower::address_of(const cs_x86_op& operand) const {
  if (operand.mem.index != X86_REG_INVALID || operand.mem.segment != X86_REG_INVALID) return {};
  const auto displacement = static_cast<std::uint64_t>(operand.mem.disp);
  if (operand.mem.base == X86_REG_RIP) return {Value::Form::Static, next_ + displacement, 0};
  if (operand.mem.base == X86_REG_INVALID) return {Value::Form::Static, displacement, 0};
  const RegisterPart base = part_of(operand.mem.base);
  if (!base.is_general()) return {};
  Value address = registers_[base.number];
  if (address.is(Value::Form::Constant)) address.form = Value::Form::Static;  // mov $symbol,%ecx
  address.number += displacement;
  return address;
}

Value Follower::value_of(const cs_x86_op& operand) const {
  if (operand.type == X86_OP_IMM) {
    return {Value::Form::Constant, static_cast<std::uint64_t>(operand.imm), 0};
  }
  if (operand.type == X86_OP_REG) {
    const RegisterPart reg = part_of(operand.reg);
    if (!reg.is_general()) return {};
    const Value value = registers_[reg.number];
    if (reg.bytes == 8) return value;
    return reg.bytes == 4 ? lower_half(value) : Value{};
  }
  return load(address_of(operand), operand.size);
}

void Follower::set(const RegisterPart& reg, Value value) {
  if (!reg.is_general()) return;
  if (reg.bytes < 4) value = {};
  registers_[reg.number] = reg.bytes == 4 ? lower_half(value) : value;
}

void Follower::copy(const cs_x86_op& to, const cs_x86_op& from) {
  const Value value = value_of(from);
  if (to.type == X86_OP_REG) {
    set(part_of(to.reg), value);
  } else {
    store(address_of(to), value, to.size);
  }
}

void Follower::add(const cs_x86_op& to, const cs_x86_op& by, bool subtract) {
  if (to.type != X86_OP_REG) {
    store(address_of(to), {}, to.size);
    return;
  }
  const RegisterPart reg = part_of(to.reg);
  if (!reg.is_general()) return;
  Value sum = value_of(to);
  const Value change = value_of(by);
  const bool is_zeroing = subtract && by.type == X86_OP_REG && by.reg == to.reg;  // sub %eax,%eax
  if (is_zeroing) {
    sum = {Value::Form::Constant, 0, 0};
  } else if (change.is(Value::Form::Constant) && !sum.is(Value::Form::Unknown)) {
    sum.number += subtract ? 0 - change.number : change.number;
  } else {
    sum = {};
  }
  set(reg, sum);
  if (reg.number == kRsp) note_frame();
}

void Follower::forget_written(const cs_insn& insn) {
  const cs_x86& x86 = insn.detail->x86;
  for (unsigned i = 0; i < insn.detail->regs_write_count; ++i) {
    set(part_of(insn.detail->regs_write[i]), {});
  }
  for (unsigned i = 0; i < x86.op_count; ++i) {
    const cs_x86_op& operand = x86.operands[i];
    if ((operand.access & CS_AC_WRITE) == 0) continue;
    if (operand.type == X86_OP_REG) set(part_of(operand.reg), {});
    if (operand.type == X86_OP_MEM) store(address_of(operand), {}, operand.size);
  }
}

void Follower::step(const cs_insn& insn) {
  const cs_x86& x86 = insn.detail->x86;
  const auto* operands = x86.operands;
  meet(insn.address);
  next_ = insn.address + insn.size;
  switch (insn.id) {
    case X86_INS_MOV:
    case X86_INS_MOVABS: return copy(operands[0], operands[1]);
    case X86_INS_LEA: return set(part_of(operands[0].reg), address_of(operands[1]));
    case X86_INS_ADD:
    case X86_INS_SUB: return add(operands[0], operands[1], insn.id == X86_INS_SUB);
    case X86_INS_XOR:
      if (operands[1].type == X86_OP_REG && operands[0].reg == operands[1].reg) {
        return set(part_of(operands[0].reg), {Value::Form::Constant, 0, 0});
      }
      break;
    case X86_INS_PUSH:
      move_stack(0 - std::uint64_t{8});
      // Often it only makes room for the slot that is written next.
      slots_[registers_[kRsp].number] = value_of(operands[0]);
      return;
    case X86_INS_POP: forget_written(insn); return move_stack(8);
    case X86_INS_CALL: return call(goal_of(x86), RemoteAddr{next_});
    case X86_INS_RET: return leave(registers_[kRax]);
    case X86_INS_JMP: return jump(goal_of(x86), false);
    default:
      if (insn.mnemonic[0] == 'j') return jump(goal_of(x86), true);
      break;
  }
  forget_written(insn);
}

std::vector<AllocationSite> Follower::run(const Disassembler& disassembler,
                                          std::span<const std::byte> code,
                                          RemoteAddr at) {
  return in_rounds([&] {
    for (std::size_t from = 0; from < code.size();) {
      const cs_insn* insn = disassembler.decode(code.subspan(from), at + from);
      if (insn == nullptr) return;
      step(*insn);
      from += insn->size;
    }
  });
}

}  // namespace

std::vector<AllocationSite> find_allocation_sites(const Disassembler& disassembler,
                                                  std::span<const std::byte> code,
                                                  RemoteAddr at,
                                                  const CallTarget& target,
                                                  const ConstantAt& constant) {
  return Follower({at, code.size()}, target, constant).run(disassembler, code, at);
}

}  // namespace heapattach::crystal::x86_64
