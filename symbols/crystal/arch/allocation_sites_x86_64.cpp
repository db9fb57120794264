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
//
// The code is read in address order, with a value for each register and stack slot: a constant, the
// address of one, an address in a fresh object or on the stack, or unknown. At jump targets, paths
// meet: there the registers become unknown, and only those stack slots keep their value that the
// function writes at one location, which a first round over the code finds. A constant stored at
// the start of a fresh object is its id, if no other constant but zero is ever stored there.

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "symbols/code/arch/registers_x86_64.h"
#include "symbols/crystal/arch/allocation_sites.h"

namespace heapattach::crystal {
namespace {

using namespace x86_64;  // its registers

constexpr std::size_t kLongestFunction = 64U << 10U;
constexpr std::uint64_t kLargestInstance = 1U << 30U;
constexpr std::uint32_t kLargestId = 0x7fffffff;

struct Value {
  enum class Form : std::uint8_t { Unknown, Constant, Static, Fresh, Frame };
  Form form = Form::Unknown;
  std::uint64_t number =
      0;  // the constant or address, or the offset in the object or from the first rsp
  std::size_t object = 0;  // Fresh: which one

  [[nodiscard]] bool is(Form f) const { return form == f; }
};

// A fresh object, and what the function has done with it so far.
struct Fresh {
  std::uint64_t bytes = 0;
  Allocator allocator = Allocator::Normal;
  std::uint32_t id = 0;  // 0: not stored yet
  bool is_certain = true;
  RemoteAddr allocator_at = {};
  RemoteAddr made_at = {};
};

using Slots = std::unordered_map<std::uint64_t, Value>;

class Follower {
 public:
  Follower(Range code, const CallTarget& target, const ConstantAt& constant)
      : code_(code), target_(target), constant_(constant) {}

  // Call it before a second round, when the first has seen every jump and every slot.
  void begin_second_round() {
    state_ = {};
    slots_.clear();
    fresh_.clear();
    returns_ = 0;
    returned_.reset();
    is_after_jump_ = false;
    is_first_round_ = false;
  }

  void step(const cs_insn& insn);
  [[nodiscard]] bool has_jumps() const { return !labels_.empty(); }
  [[nodiscard]] std::vector<AllocationSite> sites() const;

 private:
  struct State {
    std::array<Value, kRegisters> registers{};
    State() { registers[kRsp].form = Value::Form::Frame; }
  };

  void meet(std::uint64_t at);
  void copy(const cs_x86_op& to, const cs_x86_op& from);
  void add(const cs_x86_op& to, const cs_x86_op& by, bool subtract);
  void call(const cs_x86& operands);
  void jump(const cs_x86& operands, bool is_conditional);
  void leave(Value result);
  void forget_written(const cs_insn& insn);
  void set(const RegisterPart& reg, Value value);
  void store(const Value& address, Value value, unsigned bytes);
  void move_stack(std::uint64_t by) {
    state_.registers[kRsp].number += by;
    note_frame();
  }
  void note_frame() {
    const Value& stack = state_.registers[kRsp];
    if (stack.is(Value::Form::Frame)) {
      frame_ = std::min(frame_, static_cast<std::int64_t>(stack.number));
    }
  }

  [[nodiscard]] Value value_of(const cs_x86_op& operand) const;
  [[nodiscard]] Value address_of(const cs_x86_op& operand) const;
  [[nodiscard]] Value constant_at(std::uint64_t address, unsigned bytes) const;

  Range code_;
  const CallTarget& target_;
  const ConstantAt& constant_;
  std::uint64_t next_ = 0;  // after the current instruction
  State state_;
  Slots slots_;
  std::vector<Fresh> fresh_;
  std::unordered_map<std::uint64_t, int> slot_writers_;
  std::unordered_set<std::uint64_t> labels_;
  std::optional<std::size_t> returned_;  // the object that every return so far has returned
  int returns_ = 0;
  std::int64_t frame_ = 0;  // the lowest stack pointer so far: that of the function's body
  bool is_first_round_ = true;
  bool is_after_jump_ = false;
};

// Control may come here from elsewhere.
void Follower::meet(std::uint64_t at) {
  if (!is_after_jump_ && !labels_.contains(at)) return;
  Value stack = state_.registers[kRsp];
  const Value frame_pointer = state_.registers[kRbp];
  if (is_after_jump_) stack = {Value::Form::Frame, static_cast<std::uint64_t>(frame_), 0};
  state_ = {};
  state_.registers[kRsp] = stack;
  if (frame_pointer.is(Value::Form::Frame)) state_.registers[kRbp] = frame_pointer;
  std::erase_if(slots_, [&](const auto& slot) { return slot_writers_[slot.first] != 1; });
  is_after_jump_ = false;
}

Value Follower::address_of(const cs_x86_op& operand) const {
  if (operand.mem.index != X86_REG_INVALID || operand.mem.segment != X86_REG_INVALID) return {};
  const auto displacement = static_cast<std::uint64_t>(operand.mem.disp);
  if (operand.mem.base == X86_REG_RIP) return {Value::Form::Static, next_ + displacement, 0};
  if (operand.mem.base == X86_REG_INVALID) return {Value::Form::Static, displacement, 0};
  const RegisterPart base = part_of(operand.mem.base);
  if (!base.is_general()) return {};
  Value address = state_.registers[base.number];
  if (address.is(Value::Form::Constant)) address.form = Value::Form::Static;  // mov $symbol,%ecx
  address.number += displacement;
  return address;
}

Value Follower::constant_at(std::uint64_t address, unsigned bytes) const {
  if (!constant_ || (bytes != 4 && bytes != 8)) return {};
  const auto constant = constant_(RemoteAddr{address}, bytes);
  return constant ? Value{Value::Form::Constant, *constant, 0} : Value{};
}

Value Follower::value_of(const cs_x86_op& operand) const {
  if (operand.type == X86_OP_IMM) {
    return {Value::Form::Constant, static_cast<std::uint64_t>(operand.imm), 0};
  }
  if (operand.type == X86_OP_REG) {
    const RegisterPart reg = part_of(operand.reg);
    if (!reg.is_general()) return {};
    Value value = state_.registers[reg.number];
    if (reg.bytes == 8) return value;
    if (reg.bytes != 4 || !value.is(Value::Form::Constant)) return {};
    value.number &= 0xffffffffU;
    return value;
  }
  const Value address = address_of(operand);
  if (address.is(Value::Form::Static)) return constant_at(address.number, operand.size);
  if (!address.is(Value::Form::Frame)) return {};
  const auto slot = slots_.find(address.number);
  if (slot == slots_.end()) return {};
  if (operand.size == 8) return slot->second;
  if (operand.size != 4 || !slot->second.is(Value::Form::Constant)) return {};
  return {Value::Form::Constant, slot->second.number & 0xffffffffU, 0};
}

void Follower::set(const RegisterPart& reg, Value value) {
  if (!reg.is_general()) return;
  if (reg.bytes < 4) value = {};
  if (reg.bytes == 4) {
    if (value.is(Value::Form::Constant)) value.number &= 0xffffffffU;
    if (!value.is(Value::Form::Constant)) value = {};
  }
  state_.registers[reg.number] = value;
}

void Follower::store(const Value& address, Value value, unsigned bytes) {
  if (address.is(Value::Form::Frame)) {
    if (is_first_round_) ++slot_writers_[address.number];
    slots_[address.number] = bytes == 8 || value.is(Value::Form::Constant) ? value : Value{};
    return;
  }
  if (!address.is(Value::Form::Fresh) || address.number != 0) return;
  Fresh& object = fresh_[address.object];
  if (!value.is(Value::Form::Constant) || bytes < 4) {
    // Vector stores that zero a fresh object come before its id, never after it.
    if (object.id != 0) object.is_certain = false;
    return;
  }
  const auto id = static_cast<std::uint32_t>(value.number);
  if (id == 0 && object.id == 0) return;
  if (object.id != 0 && object.id != id) object.is_certain = false;
  object.id = id;
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

void Follower::call(const cs_x86& operands) {
  Value result;
  if (operands.op_count == 1 && operands.operands[0].type == X86_OP_IMM) {
    const RemoteAddr callee{static_cast<std::uint64_t>(operands.operands[0].imm)};
    const Value size = state_.registers[kRdi];
    const std::optional<Allocator> allocator = target_(callee);
    const bool is_instance =
        size.is(Value::Form::Constant) && size.number >= 4 && size.number <= kLargestInstance;
    if (allocator && is_instance) {
      result = {Value::Form::Fresh, 0, fresh_.size()};
      fresh_.push_back({size.number, *allocator, 0, true, callee, RemoteAddr{next_}});
    }
  }
  constexpr std::array<unsigned, 9> kCallerSaved = {kRax, kRcx, kRdx, kRsi, kRdi, 8, 9, 10, 11};
  for (const unsigned reg : kCallerSaved) state_.registers[reg] = {};
  state_.registers[kRax] = result;
}

void Follower::jump(const cs_x86& operands, bool is_conditional) {
  is_after_jump_ = !is_conditional;
  const bool is_direct = operands.op_count == 1 && operands.operands[0].type == X86_OP_IMM;
  if (!is_direct)
    return;  // a table of cases within the function, or an allocator that is not a site
  const RemoteAddr to{static_cast<std::uint64_t>(operands.operands[0].imm)};
  labels_.insert(to.value);
  if (!code_.contains(to)) leave({});  // the result of that function is unknown
}

void Follower::leave(Value result) {
  is_after_jump_ = true;
  const bool is_object = result.is(Value::Form::Fresh) && result.number == 0;
  if (returns_++ == 0 && is_object) returned_ = result.object;
  if (!is_object || returned_ != result.object) returned_.reset();
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
      slots_[state_.registers[kRsp].number] = value_of(operands[0]);
      return;
    case X86_INS_POP: forget_written(insn); return move_stack(8);
    case X86_INS_CALL: return call(x86);
    case X86_INS_RET: return leave(state_.registers[kRax]);
    case X86_INS_JMP: return jump(x86, false);
    default:
      if (insn.mnemonic[0] == 'j') return jump(x86, true);
      break;
  }
  forget_written(insn);
}

std::vector<AllocationSite> Follower::sites() const {
  std::vector<AllocationSite> sites;
  for (std::size_t i = 0; i < fresh_.size(); ++i) {
    const Fresh& object = fresh_[i];
    if (object.id == 0 || object.id > kLargestId || !object.is_certain) continue;
    sites.push_back({object.id, object.bytes, object.allocator, returned_ == i, object.allocator_at,
                     object.made_at});
  }
  return sites;
}

void follow(const Disassembler& disassembler,
            std::span<const std::byte> code,
            RemoteAddr at,
            Follower& follower) {
  while (!code.empty()) {
    const cs_insn* insn = disassembler.decode(code, at);
    if (insn == nullptr) return;
    follower.step(*insn);
    code = code.subspan(insn->size);
    at = at + insn->size;
  }
}

}  // namespace

std::vector<AllocationSite> find_allocation_sites(const Disassembler& disassembler,
                                                  std::span<const std::byte> code,
                                                  RemoteAddr at,
                                                  const CallTarget& target,
                                                  const ConstantAt& constant) {
  if (code.size() > kLongestFunction) return {};
  Follower follower({at, code.size()}, target, constant);
  follow(disassembler, code, at, follower);
  if (follower.has_jumps()) {
    follower.begin_second_round();
    follow(disassembler, code, at, follower);
  }
  return follower.sites();
}

}  // namespace heapattach::crystal
