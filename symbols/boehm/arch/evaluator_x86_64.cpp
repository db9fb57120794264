#include "symbols/boehm/arch/evaluator_x86_64.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>

#include "symbols/boehm/arch/machine_x86_64.h"

// A symbolic interpreter, just large enough for accessor functions: a dozen instructions that
// compute an address from an argument and load from it. It takes each conditional jump both ways,
// whatever its condition, a bounded number of times per path. It records what the jumps compared,
// because that shows what loops search for. It follows calls by pushing the return address on the
// simulated stack, and needs no notion of functions.
//
// Rejected: matching instruction patterns (each compiler and option has its own), executing the
// code in an emulator with made-up memory (which shows values, not where they came from).

namespace heapattach::boehm::x86_64 {

namespace {

// For one unconditional jump on one path. Loops end at their conditional jump long before.
constexpr unsigned kMostJumpVisits = 8;

enum class Next : std::uint8_t { Continue, Returned, Dropped };

class Evaluation {
 public:
  Evaluation(ExprPool& pool,
             const Disassembler& disassembler,
             const CodeSource& source,
             const EvaluationLimits& limits)
      : pool_(pool),
        machine_(pool, source),
        disassembler_(disassembler),
        source_(source),
        limits_(limits) {}

  std::vector<FunctionPath> run(RemoteAddr entry) {
    open_.push_back(machine_.at_entry(entry));
    std::vector<FunctionPath> paths;
    while (!open_.empty() && paths.size() < limits_.paths && steps_ < limits_.instructions) {
      MachineState state = std::move(open_.back());
      open_.pop_back();
      if (follow(state)) paths.push_back(std::move(state.path));
    }
    return paths;
  }

 private:
  // Runs one path to its end; true if that is the function's return.
  bool follow(MachineState& state) {
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

  Next step(MachineState& state, const cs_insn& instruction) {
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
      MachineState other = state;
      machine_.write(other, x86.operands[0], machine_.read(other, x86.operands[1]));
      if (x86.operands[0].size == 4) machine_.truncate_to_half(state, x86.operands[0]);
      open(std::move(other));
      return Next::Continue;
    }
    forget_written(state, instruction);
    return Next::Continue;
  }

  // --- instructions; each group returns whether the instruction is one of its own ---

  bool move(MachineState& state, const cs_insn& instruction) {
    const cs_x86& x86 = instruction.detail->x86;
    const cs_x86_op& to = x86.operands[0];
    const cs_x86_op& from = x86.operands[1];
    switch (instruction.id) {
      case X86_INS_MOV:
      case X86_INS_MOVABS:
      case X86_INS_MOVZX:
        if (to.type == X86_OP_REG && !Machine::is_general(to.reg)) return true;
        machine_.write(state, to, machine_.read(state, from));
        return true;
      case X86_INS_MOVSX:
      case X86_INS_MOVSXD:
        machine_.write(state, to,
                       machine_.sign_extended(machine_.read(state, from), from.size, to.size));
        return true;
      case X86_INS_CDQE:
        machine_.set_register(
            state, X86_REG_RAX,
            machine_.sign_extended(machine_.register_value(state, X86_REG_EAX), 4, 8));
        return true;
      case X86_INS_LEA:
        machine_.write(state, to, machine_.effective_address(state, from.mem));
        return true;
      case X86_INS_XCHG: {
        const Expr first = machine_.read(state, to);
        machine_.write(state, to, machine_.read(state, from));
        machine_.write(state, from, first);
        return true;
      }
      case X86_INS_PUSH: machine_.push(state, machine_.read(state, to)); return true;
      case X86_INS_POP: machine_.write(state, to, machine_.pop(state)); return true;
      case X86_INS_LEAVE:
        state.registers[kRsp] = state.registers[kRbp];
        state.registers[kRbp] = machine_.pop(state);
        return true;
      case X86_INS_NOP: return true;
      default: return is_endbr(instruction);
    }
  }

  // endbr64 is a hint; Capstone 4 decodes it as one instruction or not at all.
  static bool is_endbr(const cs_insn& instruction) {
    constexpr std::array<std::uint8_t, 4> kEndbr64 = {0xf3, 0x0f, 0x1e, 0xfa};
    return instruction.size == kEndbr64.size() &&
           std::equal(kEndbr64.begin(), kEndbr64.end(), std::begin(instruction.bytes));
  }

  bool arithmetic(MachineState& state, const cs_insn& instruction) {
    const cs_x86& x86 = instruction.detail->x86;
    const cs_x86_op& to = x86.operands[0];
    if (x86.op_count == 0 || x86.op_count > 3) return false;
    std::optional<Expr> result;
    switch (instruction.id) {
      case X86_INS_ADD:
        result = pool_.add(machine_.read(state, to), machine_.read(state, x86.operands[1]));
        break;
      case X86_INS_SUB: result = subtraction(state, x86); break;
      case X86_INS_INC: result = pool_.add(machine_.read(state, to), pool_.constant(1)); break;
      case X86_INS_DEC: result = pool_.subtract(machine_.read(state, to), pool_.constant(1)); break;
      case X86_INS_NEG: result = pool_.subtract(pool_.constant(0), machine_.read(state, to)); break;
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
    machine_.write(state, to, pool_.truncate(*result, to.size));
    return true;
  }

  Expr subtraction(MachineState& state, const cs_x86& x86) {
    const Expr left = machine_.read(state, x86.operands[0]);
    const Expr right = machine_.read(state, x86.operands[1]);
    state.path.comparisons.push_back({left, right});
    return pool_.subtract(left, right);
  }

  Expr conjunction(const MachineState& state, const cs_x86& x86) {
    const Expr left = machine_.read(state, x86.operands[0]);
    const Expr right = machine_.read(state, x86.operands[1]);
    if (left == right) return left;
    if (const auto mask = pool_.constant_of(right)) return pool_.bit_and(left, *mask);
    if (const auto mask = pool_.constant_of(left)) return pool_.bit_and(right, *mask);
    return pool_.unknown();
  }

  // An `or` of values without common bits is their sum.
  Expr disjunction(const MachineState& state, const cs_x86& x86) {
    const Expr left = machine_.read(state, x86.operands[0]);
    const Expr right = machine_.read(state, x86.operands[1]);
    if (left == right) return left;
    const bool are_apart = (pool_.possible_bits(left) & pool_.possible_bits(right)) == 0;
    return are_apart ? pool_.add(left, right) : pool_.unknown();
  }

  Expr exclusive(const MachineState& state, const cs_x86& x86) {
    const Expr left = machine_.read(state, x86.operands[0]);
    if (left == machine_.read(state, x86.operands[1])) return pool_.constant(0);
    return disjunction(state, x86);
  }

  Expr shift(const MachineState& state, const cs_insn& instruction) {
    const cs_x86& x86 = instruction.detail->x86;
    const Expr value = machine_.read(state, x86.operands[0]);
    const unsigned width = x86.operands[0].size;
    std::uint64_t count = 1;
    if (x86.op_count > 1) {
      const auto constant = pool_.constant_of(machine_.read(state, x86.operands[1]));
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

  Expr product(const MachineState& state, const cs_x86& x86) {
    const Expr left = machine_.read(state, x86.operands[x86.op_count - 2]);
    const Expr right = machine_.read(state, x86.operands[x86.op_count - 1]);
    if (const auto factor = pool_.constant_of(right)) return pool_.multiply(left, *factor);
    if (const auto factor = pool_.constant_of(left)) return pool_.multiply(right, *factor);
    return pool_.unknown();
  }

  bool compare(MachineState& state, const cs_insn& instruction) {
    const cs_x86& x86 = instruction.detail->x86;
    if (instruction.id != X86_INS_CMP && instruction.id != X86_INS_TEST) return false;
    const Expr left = machine_.read(state, x86.operands[0]);
    if (instruction.id == X86_INS_CMP) {
      state.path.comparisons.push_back({left, machine_.read(state, x86.operands[1])});
    } else {
      state.path.comparisons.push_back({conjunction(state, x86), pool_.constant(0)});
    }
    return true;
  }

  static bool is_one_of(const cs_insn& instruction, std::string_view mnemonics_begin) {
    return std::string_view(instruction.mnemonic).starts_with(mnemonics_begin);
  }

  // setcc: whether a condition holds for the last comparison.
  void set_condition(MachineState& state, const cs_insn& instruction) {
    const auto& comparisons = state.path.comparisons;
    const Expr value = comparisons.empty()
                           ? pool_.unknown()
                           : pool_.condition(comparisons.back().left, comparisons.back().right);
    machine_.write(state, instruction.detail->x86.operands[0], value);
  }

  void forget_written(MachineState& state, const cs_insn& instruction) {
    const auto written = WrittenRegisters::of(disassembler_.handle(), instruction);
    if (!written) return;
    for (const unsigned reg : *written) machine_.set_register(state, reg, pool_.unknown());
    const cs_x86& x86 = instruction.detail->x86;
    const cs_x86_op& to = x86.operands[0];
    if (x86.op_count > 0 && to.type == X86_OP_MEM && (to.access & CS_AC_WRITE) != 0) {
      machine_.store(state, machine_.effective_address(state, to.mem), pool_.unknown(), to.size);
    }
  }

  // --- control flow ---

  void open(MachineState state) {
    if (open_.size() < limits_.paths) open_.push_back(std::move(state));
  }

  Next leave_function(MachineState& state) {
    const auto target = pool_.constant_of(machine_.pop(state));
    if (!target) return Next::Dropped;
    if (*target == kReturnToCaller) {
      state.path.returned = state.registers[kRax];
      return Next::Returned;
    }
    if (state.depth > 0) --state.depth;
    state.pc = RemoteAddr{*target};
    return Next::Continue;
  }

  Next call(MachineState& state, const cs_x86_op& operand) {
    const auto target = pool_.constant_of(machine_.read(state, operand));
    if (target && state.depth < limits_.call_depth && !source_.code(RemoteAddr{*target}).empty()) {
      machine_.push(state, pool_.constant(state.pc.value));
      ++state.depth;
      state.pc = RemoteAddr{*target};
      return Next::Continue;
    }
    machine_.forget_call(state);
    return Next::Continue;
  }

  Next jump(MachineState& state, const cs_insn& instruction) {
    const cs_x86_op& operand = instruction.detail->x86.operands[0];
    const auto target = pool_.constant_of(machine_.read(state, operand));
    if (instruction.id == X86_INS_JMP) {
      if (target && !source_.code(RemoteAddr{*target}).empty()) {
        state.pc = RemoteAddr{*target};
        return ++state.visits[state.pc] > kMostJumpVisits ? Next::Dropped : Next::Continue;
      }
      // A call in tail position to code that cannot be followed.
      machine_.forget_call(state);
      return leave_function(state);
    }
    if (!target || ++state.visits[state.pc] > limits_.visits) return Next::Dropped;
    MachineState other = state;
    other.pc = RemoteAddr{*target};
    open(std::move(other));
    return Next::Continue;
  }

  ExprPool& pool_;
  Machine machine_;
  const Disassembler& disassembler_;
  const CodeSource& source_;
  const EvaluationLimits& limits_;
  std::vector<MachineState> open_;  // paths still to follow
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

}  // namespace heapattach::boehm::x86_64
