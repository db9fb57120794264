#include "symbols/boehm/arch/evaluator_aarch64.h"

#include <utility>

#include "symbols/boehm/arch/machine_aarch64.h"

// The same interpreter as for x86-64 (evaluator_x86_64.cpp explains it), for aarch64. It decodes
// the few instructions that it needs itself: they all have four bytes, and Capstone 4 does not know
// all of them.

namespace heapattach::boehm::aarch64 {

namespace {

// For one unconditional jump on one path. Loops end at their conditional jump long before.
constexpr unsigned kMostJumpVisits = 8;

enum class Next : std::uint8_t { Continue, Returned, Dropped };

class Evaluation {
 public:
  Evaluation(ExprPool& pool, const CodeSource& source, const EvaluationLimits& limits)
      : pool_(pool), machine_(pool, source), source_(source), limits_(limits) {}

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
      const auto code = source_.code(state.pc);
      if (code.size() < kInstructionBytes) return false;
      const Fields fields{word_at(code, 0)};
      state.pc = state.pc + kInstructionBytes;
      const Next next = step(state, fields);
      if (next == Next::Continue) continue;
      return next == Next::Returned;
    }
    return false;
  }

  Next step(MachineState& state, Fields fields) {
    if (ends_program(fields)) return Next::Dropped;
    if (is_hint(fields)) return Next::Continue;
    if (const auto distance = direct_jump(fields.word, true)) {
      return call(state, pool_.constant(from_here(state, *distance).value));
    }
    if (const auto distance = direct_jump(fields.word, false)) {
      return jump(state, from_here(state, *distance));
    }
    if (fields.bits(25, 7) == 0x6b) return branch_to_register(state, fields);
    if (const auto condition = conditional_jump(state, fields)) {
      return fork(state, from_here(state, *condition));
    }
    if (select(state, fields) || compare_if(state, fields) || machine_.compute(state, fields) ||
        machine_.access_memory(state, fields)) {
      return Next::Continue;
    }
    machine_.forget_written(state, fields);
    return Next::Continue;
  }

  // From the instruction that was just decoded.
  static RemoteAddr from_here(const MachineState& state, std::int64_t distance) {
    return state.pc - kInstructionBytes + static_cast<std::uint64_t>(distance);
  }

  // brk, hlt, udf.
  static bool ends_program(Fields fields) {
    const std::uint32_t kind = fields.word & 0xffe0001fU;
    return kind == 0xd4200000U || kind == 0xd4400000U || fields.bits(16, 16) == 0;
  }

  // nop, bti, paciasp, …, and barriers.
  static bool is_hint(Fields fields) {
    return (fields.word & 0xfffff01fU) == 0xd503201fU || (fields.word & 0xfffff01fU) == 0xd503301fU;
  }

  // b.cond, cbz, cbnz, tbz, tbnz: the distance, after noting what it compares.
  std::optional<std::int64_t> conditional_jump(MachineState& state, Fields fields) {
    if ((fields.word & 0xff000010U) == 0x54000000U) return with_sign(fields.bits(5, 19), 19) * 4;
    const unsigned kind = fields.bits(25, 6);
    if (kind != 0x1a && kind != 0x1b) return {};
    const Expr tested = machine_.value(state, fields.target(), fields.width());
    if (kind == 0x1a) {
      state.path.comparisons.push_back({tested, pool_.constant(0)});
      return with_sign(fields.bits(5, 19), 19) * 4;
    }
    const unsigned bit = (fields.bit(31) ? 32U : 0U) + fields.bits(19, 5);
    const Expr masked = pool_.bit_and(tested, std::uint64_t{1} << bit);
    state.path.comparisons.push_back({masked, pool_.constant(0)});
    return with_sign(fields.bits(5, 14), 14) * 4;
  }

  // csel, csinc, csinv, csneg: either result is followed. The form that only tells whether the
  // condition holds (cset) gives that.
  bool select(MachineState& state, Fields fields) {
    if (fields.bits(21, 8) != 0xd4) return false;
    const unsigned width = fields.width();
    const bool increments = !fields.bit(30) && fields.bit(10);
    const Expr right = machine_.value(state, fields.right(), width);
    if (increments && fields.left() == kStackPointer && fields.right() == kStackPointer) {
      const auto& all = state.path.comparisons;
      const Expr holds =
          all.empty() ? pool_.unknown() : pool_.condition(all.back().left, all.back().right);
      machine_.set(state, fields.target(), holds, width);
      return true;
    }
    Expr other = right;
    if (increments) other = pool_.add(right, pool_.constant(1));
    if (fields.bit(30)) {
      other = fields.bit(10) ? pool_.subtract(pool_.constant(0), right) : pool_.unknown();
    }
    MachineState second = state;
    machine_.set(second, fields.target(), other, width);
    open(std::move(second));
    machine_.set(state, fields.target(), machine_.value(state, fields.left(), width), width);
    return true;
  }

  // ccmp, ccmn.
  bool compare_if(MachineState& state, Fields fields) {
    if (fields.bits(21, 8) != 0xd2) return false;
    const Expr right = fields.bit(11) ? pool_.constant(fields.right())
                                      : machine_.value(state, fields.right(), fields.width());
    state.path.comparisons.push_back({machine_.value(state, fields.left(), fields.width()), right});
    return true;
  }

  void open(MachineState state) {
    if (open_.size() < limits_.paths) open_.push_back(std::move(state));
  }

  Next fork(MachineState& state, RemoteAddr target) {
    if (++state.visits[state.pc] > limits_.visits) return Next::Dropped;
    MachineState other = state;
    other.pc = target;
    open(std::move(other));
    return Next::Continue;
  }

  // br, blr, ret, and their forms that authenticate the address.
  Next branch_to_register(MachineState& state, Fields fields) {
    const unsigned kind = fields.bits(21, 2);
    if (kind == 1) return call(state, machine_.value(state, fields.left(), 8));
    // retaa has no register of its own.
    const unsigned reg = kind == 2 && fields.bit(11) ? kLink : fields.left();
    const auto target = pool_.constant_of(machine_.value(state, reg, 8));
    if (kind == 2) return leave(state, target);
    return target ? jump(state, RemoteAddr{*target}) : leave_by_tail(state);
  }

  Next leave(MachineState& state, std::optional<std::uint64_t> target) {
    if (!target) return Next::Dropped;
    if (*target == kReturnToCaller) {
      state.path.returned = machine_.value(state, 0, 8);
      return Next::Returned;
    }
    if (state.depth > 0) --state.depth;
    state.pc = RemoteAddr{*target};
    return Next::Continue;
  }

  // A call in tail position to code that cannot be followed.
  Next leave_by_tail(MachineState& state) {
    machine_.forget_call(state);
    return leave(state, pool_.constant_of(machine_.value(state, kLink, 8)));
  }

  Next call(MachineState& state, Expr callee) {
    const auto target = pool_.constant_of(callee);
    if (target && state.depth < limits_.call_depth && !source_.code(RemoteAddr{*target}).empty()) {
      machine_.set(state, kLink, pool_.constant(state.pc.value), 8);
      ++state.depth;
      state.pc = RemoteAddr{*target};
      return Next::Continue;
    }
    machine_.forget_call(state);
    return Next::Continue;
  }

  Next jump(MachineState& state, RemoteAddr target) {
    if (source_.code(target).empty()) return leave_by_tail(state);
    state.pc = target;
    return ++state.visits[state.pc] > kMostJumpVisits ? Next::Dropped : Next::Continue;
  }

  ExprPool& pool_;
  Machine machine_;
  const CodeSource& source_;
  const EvaluationLimits& limits_;
  std::vector<MachineState> open_;  // paths still to follow
  unsigned steps_ = 0;
};

}  // namespace

std::vector<FunctionPath> evaluate(ExprPool& pool,
                                   const Disassembler& /*disassembler*/,
                                   const CodeSource& source,
                                   RemoteAddr entry,
                                   const EvaluationLimits& limits) {
  return Evaluation(pool, source, limits).run(entry);
}

}  // namespace heapattach::boehm::aarch64
