#include "symbols/boehm/evaluator.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <string_view>
#include <utility>

// A symbolic interpreter, just large enough for accessor functions: a dozen instructions that
// compute an address from an argument and load from it. Each conditional jump is taken both ways,
// whatever its condition, a bounded number of times per path; what the jumps compared is recorded,
// as it tells what loops look for. Calls are followed by pushing the return address to the
// simulated stack, which needs no notion of functions at all.
//
// Rejected: matching instruction patterns (each compiler and option has its own), executing the
// code in an emulator with made-up memory (one sees values, not where they came from).

namespace heapattach::boehm {

namespace {

constexpr unsigned kNoRegister = 16;
constexpr std::uint64_t kReturnToCaller = 0xfee1deadfee1dead;

// Which general register a register is part of, and which bytes of it.
struct RegisterPart {
  unsigned number = kNoRegister;
  unsigned width = 8;
  bool is_high_byte = false;  // ah, bh, ch, dh
};

constexpr unsigned kRax = 0;
constexpr unsigned kRsp = 4;
constexpr unsigned kRbp = 5;

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

// Everything that one path knows.
struct State {
  RemoteAddr pc;
  std::array<Expr, 16> registers{};
  struct Cell {
    Expr value{};
    unsigned width = 8;
  };
  std::map<std::int64_t, Cell> frame;  // by offset from the stack pointer at entry
  unsigned depth = 0;                  // of followed calls
  std::map<RemoteAddr, unsigned> visits;
  FunctionPath path;
};

enum class Next : std::uint8_t { Continue, Returned, Dropped };

class Evaluation {
 public:
  Evaluation(ExprPool& pool,
             const Disassembler& disassembler,
             const CodeSource& source,
             const EvaluationLimits& limits)
      : pool_(pool), disassembler_(disassembler), source_(source), limits_(limits) {}

  std::vector<FunctionPath> run(RemoteAddr entry) {
    State first;
    first.pc = entry;
    for (Expr& value : first.registers) value = pool_.unknown();
    for (unsigned i = 0; i < kArguments.size(); ++i) {
      first.registers.at(kArguments.at(i)) = pool_.argument(i);
    }
    first.registers[kRsp] = pool_.stack();
    first.frame[0] = {pool_.constant(kReturnToCaller), 8};
    open_.push_back(std::move(first));
    std::vector<FunctionPath> paths;
    while (!open_.empty() && paths.size() < limits_.paths && steps_ < limits_.instructions) {
      State state = std::move(open_.back());
      open_.pop_back();
      if (follow(state)) paths.push_back(std::move(state.path));
    }
    return paths;
  }

 private:
  // Runs one path to its end; true if that is the function's return.
  bool follow(State& state) {
    while (steps_++ < limits_.instructions) {
      const cs_insn* instruction = disassembler_.decode(source_.code(state.pc), state.pc);
      if (instruction == nullptr) return false;
      state.pc = state.pc + instruction->size;
      const Next next = step(state, *instruction);
      if (next == Next::Continue) continue;
      return next == Next::Returned;
    }
    return false;
  }

  Next step(State& state, const cs_insn& instruction) {
    const cs_x86& x86 = instruction.detail->x86;
    if (cs_insn_group(disassembler_.handle(), &instruction, CS_GRP_JUMP)) {
      return jump(state, instruction);
    }
    switch (instruction.id) {
      case X86_INS_CALL: return call(state, x86.operands[0]);
      case X86_INS_RET: return leave_function(state);
      case X86_INS_HLT:
      case X86_INS_UD2:
      case X86_INS_INT3: return Next::Dropped;
      default: break;
    }
    if (move(state, instruction) || arithmetic(state, instruction) || compare(state, instruction)) {
      return Next::Continue;
    }
    if (is_one_of(instruction, "set")) {
      set_condition(state, instruction);
      return Next::Continue;
    }
    if (is_one_of(instruction, "cmov")) {
      State other = state;
      write(other, x86.operands[0], read(other, x86.operands[1]));
      if (x86.operands[0].size == 4) truncate_to_half(state, x86.operands[0]);
      open(std::move(other));
      return Next::Continue;
    }
    forget_written(state, instruction);
    return Next::Continue;
  }

  // --- operands ---

  Expr register_value(const State& state, unsigned reg) {
    const RegisterPart part = part_of(reg);
    if (part.number == kNoRegister) return pool_.unknown();
    const Expr whole = state.registers.at(part.number);
    if (part.is_high_byte) return pool_.bit_and(pool_.shift_right(whole, 8), 0xff);
    return pool_.truncate(whole, part.width);
  }

  void set_register(State& state, unsigned reg, Expr value) {
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

  void truncate_to_half(State& state, const cs_x86_op& operand) {
    if (operand.type == X86_OP_REG) {
      set_register(state, operand.reg, register_value(state, operand.reg));
    }
  }

  Expr effective_address(const State& state, const x86_op_mem& memory) {
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
  std::optional<std::int64_t> frame_offset(Expr address) const {
    const ExprNode& node = pool_.at(address);
    if (node.op == ExprOp::Stack) return 0;
    if (node.op != ExprOp::Sum || node.terms.size() != 1 || node.terms[0].factor != 1) {
      return std::nullopt;
    }
    if (pool_.at(node.terms[0].of).op != ExprOp::Stack) return std::nullopt;
    return static_cast<std::int64_t>(node.constant);
  }

  Expr load(const State& state, Expr address, unsigned width) {
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

  void store(State& state, Expr address, Expr value, unsigned width) {
    value = pool_.truncate(value, width);
    if (const auto offset = frame_offset(address)) {
      forget_overlapping(state, *offset, width);
      state.frame[*offset] = {value, width};
    } else {
      state.path.stores.push_back({address, value, width});
    }
  }

  static void forget_overlapping(State& state, std::int64_t offset, unsigned width) {
    std::erase_if(state.frame, [&](const auto& entry) {
      return entry.first < offset + static_cast<std::int64_t>(width) &&
             offset < entry.first + static_cast<std::int64_t>(entry.second.width);
    });
  }

  Expr read(const State& state, const cs_x86_op& operand) {
    switch (operand.type) {
      case X86_OP_REG: return register_value(state, operand.reg);
      case X86_OP_IMM:
        return pool_.truncate(pool_.constant(static_cast<std::uint64_t>(operand.imm)),
                              operand.size);
      case X86_OP_MEM: return load(state, effective_address(state, operand.mem), operand.size);
      default: return pool_.unknown();
    }
  }

  void write(State& state, const cs_x86_op& operand, Expr value) {
    if (operand.type == X86_OP_REG) set_register(state, operand.reg, value);
    if (operand.type == X86_OP_MEM) {
      store(state, effective_address(state, operand.mem), value, operand.size);
    }
  }

  // The same number in `to` bytes, sign and all. Only exact where the sign bit is known to be 0.
  Expr sign_extended(Expr value, unsigned from, unsigned to) {
    if (const auto constant = pool_.constant_of(value)) {
      const unsigned up = 64 - 8 * from;
      const auto wide = static_cast<std::int64_t>(*constant << up) >> up;
      return pool_.truncate(pool_.constant(static_cast<std::uint64_t>(wide)), to);
    }
    const std::uint64_t sign = std::uint64_t{1} << (8 * from - 1);
    return (pool_.possible_bits(value) & sign) == 0 ? value : pool_.unknown();
  }

  // --- instructions; each group says whether the instruction was one of its own ---

  bool move(State& state, const cs_insn& instruction) {
    const cs_x86& x86 = instruction.detail->x86;
    const cs_x86_op& to = x86.operands[0];
    const cs_x86_op& from = x86.operands[1];
    switch (instruction.id) {
      case X86_INS_MOV:
      case X86_INS_MOVABS:
      case X86_INS_MOVZX:
        if (to.type == X86_OP_REG && part_of(to.reg).number == kNoRegister) return true;
        write(state, to, read(state, from));
        return true;
      case X86_INS_MOVSX:
      case X86_INS_MOVSXD:
        write(state, to, sign_extended(read(state, from), from.size, to.size));
        return true;
      case X86_INS_CDQE:
        set_register(state, X86_REG_RAX, sign_extended(register_value(state, X86_REG_EAX), 4, 8));
        return true;
      case X86_INS_LEA: write(state, to, effective_address(state, from.mem)); return true;
      case X86_INS_XCHG: {
        const Expr first = read(state, to);
        write(state, to, read(state, from));
        write(state, from, first);
        return true;
      }
      case X86_INS_PUSH: push(state, read(state, to)); return true;
      case X86_INS_POP: write(state, to, pop(state)); return true;
      case X86_INS_LEAVE:
        state.registers[kRsp] = state.registers[kRbp];
        state.registers[kRbp] = pop(state);
        return true;
      case X86_INS_NOP: return true;
      default: return is_endbr(instruction);
    }
  }

  // endbr64 is a hint of its own; Capstone 4 knows it as one instruction or not at all.
  static bool is_endbr(const cs_insn& instruction) {
    constexpr std::array<std::uint8_t, 4> kEndbr64 = {0xf3, 0x0f, 0x1e, 0xfa};
    return instruction.size == kEndbr64.size() &&
           std::equal(kEndbr64.begin(), kEndbr64.end(), std::begin(instruction.bytes));
  }

  bool arithmetic(State& state, const cs_insn& instruction) {
    const cs_x86& x86 = instruction.detail->x86;
    const cs_x86_op& to = x86.operands[0];
    if (x86.op_count == 0 || x86.op_count > 3) return false;
    std::optional<Expr> result;
    switch (instruction.id) {
      case X86_INS_ADD: result = pool_.add(read(state, to), read(state, x86.operands[1])); break;
      case X86_INS_SUB: result = subtraction(state, x86); break;
      case X86_INS_INC: result = pool_.add(read(state, to), pool_.constant(1)); break;
      case X86_INS_DEC: result = pool_.subtract(read(state, to), pool_.constant(1)); break;
      case X86_INS_NEG: result = pool_.subtract(pool_.constant(0), read(state, to)); break;
      case X86_INS_AND: result = conjunction(state, x86); break;
      case X86_INS_OR: result = disjunction(state, x86); break;
      case X86_INS_XOR: result = exclusive(state, x86); break;
      case X86_INS_SHL:
      case X86_INS_SAL:
      case X86_INS_SHR:
      case X86_INS_SAR: result = shift(state, instruction); break;
      case X86_INS_IMUL:
        if (x86.op_count == 1) return false;
        result = product(state, x86);
        break;
      default: return false;
    }
    write(state, to, pool_.truncate(*result, to.size));
    return true;
  }

  Expr subtraction(State& state, const cs_x86& x86) {
    const Expr left = read(state, x86.operands[0]);
    const Expr right = read(state, x86.operands[1]);
    state.path.comparisons.push_back({left, right});
    return pool_.subtract(left, right);
  }

  Expr conjunction(const State& state, const cs_x86& x86) {
    const Expr left = read(state, x86.operands[0]);
    const Expr right = read(state, x86.operands[1]);
    if (left == right) return left;
    if (const auto mask = pool_.constant_of(right)) return pool_.bit_and(left, *mask);
    if (const auto mask = pool_.constant_of(left)) return pool_.bit_and(right, *mask);
    return pool_.unknown();
  }

  // An `or` of values without common bits is their sum.
  Expr disjunction(const State& state, const cs_x86& x86) {
    const Expr left = read(state, x86.operands[0]);
    const Expr right = read(state, x86.operands[1]);
    if (left == right) return left;
    if ((pool_.possible_bits(left) & pool_.possible_bits(right)) == 0)
      return pool_.add(left, right);
    return pool_.unknown();
  }

  Expr exclusive(const State& state, const cs_x86& x86) {
    const Expr left = read(state, x86.operands[0]);
    if (left == read(state, x86.operands[1])) return pool_.constant(0);
    return disjunction(state, x86);
  }

  Expr shift(const State& state, const cs_insn& instruction) {
    const cs_x86& x86 = instruction.detail->x86;
    const Expr value = read(state, x86.operands[0]);
    const unsigned width = x86.operands[0].size;
    std::uint64_t count = 1;
    if (x86.op_count > 1) {
      const auto constant = pool_.constant_of(read(state, x86.operands[1]));
      if (!constant) return pool_.unknown();
      count = *constant;
    }
    count &= width == 8 ? 63 : 31;
    if (instruction.id == X86_INS_SHL || instruction.id == X86_INS_SAL) {
      return pool_.multiply(value, std::uint64_t{1} << count);
    }
    const std::uint64_t sign = std::uint64_t{1} << (8 * width - 1);
    const bool is_exact = instruction.id == X86_INS_SHR || (pool_.possible_bits(value) & sign) == 0;
    return is_exact ? pool_.shift_right(value, static_cast<unsigned>(count)) : pool_.unknown();
  }

  Expr product(const State& state, const cs_x86& x86) {
    const Expr left = read(state, x86.operands[x86.op_count - 2]);
    const Expr right = read(state, x86.operands[x86.op_count - 1]);
    if (const auto factor = pool_.constant_of(right)) return pool_.multiply(left, *factor);
    if (const auto factor = pool_.constant_of(left)) return pool_.multiply(right, *factor);
    return pool_.unknown();
  }

  bool compare(State& state, const cs_insn& instruction) {
    const cs_x86& x86 = instruction.detail->x86;
    if (instruction.id != X86_INS_CMP && instruction.id != X86_INS_TEST) return false;
    const Expr left = read(state, x86.operands[0]);
    if (instruction.id == X86_INS_CMP) {
      state.path.comparisons.push_back({left, read(state, x86.operands[1])});
    } else {
      state.path.comparisons.push_back({conjunction(state, x86), pool_.constant(0)});
    }
    return true;
  }

  static bool is_one_of(const cs_insn& instruction, std::string_view mnemonics_begin) {
    return std::string_view(instruction.mnemonic).starts_with(mnemonics_begin);
  }

  // setcc: that something holds of what was compared last.
  void set_condition(State& state, const cs_insn& instruction) {
    const auto& comparisons = state.path.comparisons;
    const Expr value = comparisons.empty()
                           ? pool_.unknown()
                           : pool_.condition(comparisons.back().left, comparisons.back().right);
    write(state, instruction.detail->x86.operands[0], value);
  }

  void forget_written(State& state, const cs_insn& instruction) {
    cs_regs reads{};
    cs_regs writes{};
    std::uint8_t read_count = 0;
    std::uint8_t write_count = 0;
    if (cs_regs_access(disassembler_.handle(), &instruction, reads, &read_count, writes,
                       &write_count) != CS_ERR_OK) {
      return;
    }
    for (unsigned i = 0; i < write_count; ++i) set_register(state, writes[i], pool_.unknown());
    const cs_x86& x86 = instruction.detail->x86;
    const cs_x86_op& to = x86.operands[0];
    if (x86.op_count > 0 && to.type == X86_OP_MEM && (to.access & CS_AC_WRITE) != 0) {
      store(state, effective_address(state, to.mem), pool_.unknown(), to.size);
    }
  }

  // --- control flow ---

  void push(State& state, Expr value) {
    Expr& top = state.registers[kRsp];
    top = pool_.subtract(top, pool_.constant(8));
    store(state, top, value, 8);
  }

  Expr pop(State& state) {
    Expr& top = state.registers[kRsp];
    const Expr value = load(state, top, 8);
    top = pool_.add(top, pool_.constant(8));
    return value;
  }

  void open(State state) {
    if (open_.size() < 4 * limits_.paths) open_.push_back(std::move(state));
  }

  Next leave_function(State& state) {
    const auto target = pool_.constant_of(pop(state));
    if (!target) return Next::Dropped;
    if (*target == kReturnToCaller) {
      state.path.returned = state.registers[kRax];
      return Next::Returned;
    }
    if (state.depth > 0) --state.depth;
    state.pc = RemoteAddr{*target};
    return Next::Continue;
  }

  Next call(State& state, const cs_x86_op& operand) {
    const auto target = pool_.constant_of(read(state, operand));
    if (target && state.depth < limits_.call_depth && !source_.code(RemoteAddr{*target}).empty()) {
      push(state, pool_.constant(state.pc.value));
      ++state.depth;
      state.pc = RemoteAddr{*target};
      return Next::Continue;
    }
    forget_call(state);
    return Next::Continue;
  }

  // Only the returned value is taken for changed: compilers read another caller-saved register
  // after a call only where they know that the callee leaves it alone (gcc's -fipa-ra).
  void forget_call(State& state) { state.registers[kRax] = pool_.unknown(); }

  Next jump(State& state, const cs_insn& instruction) {
    const cs_x86_op& operand = instruction.detail->x86.operands[0];
    const auto target = pool_.constant_of(read(state, operand));
    if (instruction.id == X86_INS_JMP) {
      if (target && !source_.code(RemoteAddr{*target}).empty()) {
        state.pc = RemoteAddr{*target};
        return ++state.visits[state.pc] > 4 * limits_.visits ? Next::Dropped : Next::Continue;
      }
      // A call in tail position to code that cannot be followed.
      forget_call(state);
      return leave_function(state);
    }
    if (!target || ++state.visits[state.pc] > limits_.visits) return Next::Dropped;
    State other = state;
    other.pc = RemoteAddr{*target};
    open(std::move(other));
    return Next::Continue;
  }

  ExprPool& pool_;
  const Disassembler& disassembler_;
  const CodeSource& source_;
  const EvaluationLimits& limits_;
  std::vector<State> open_;  // paths to be followed
  unsigned steps_ = 0;
};

}  // namespace

std::vector<FunctionPath> evaluate(ExprPool& pool,
                                   const Disassembler& disassembler,
                                   const CodeSource& source,
                                   RemoteAddr entry,
                                   const EvaluationLimits& limits) {
  return Evaluation(pool, disassembler, source, limits).run(entry);
}

}  // namespace heapattach::boehm
