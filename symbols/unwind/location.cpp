#include "symbols/unwind/location.h"

#include <vector>

#include <dwarf.h>

namespace heapattach::unwind {

namespace {

constexpr int kMostSteps = 1000;
constexpr std::size_t kDeepestStack = 64;

bool is_between(unsigned op, unsigned first, unsigned last) {
  return op >= first && op <= last;
}

class Follower {
 public:
  Follower(std::span<const Dwarf_Op> expression, const LocationContext& context)
      : expression_(expression), context_(context) {}

  std::optional<Location> run(std::optional<std::uint64_t> initial) {
    if (initial) push(*initial);
    for (int steps = 0; at_ < expression_.size(); ++steps) {
      if (steps == kMostSteps) return {};
      const Dwarf_Op& op = expression_[at_++];
      if (const auto place = last_word(op)) {
        // If another operation follows, this is a piece of something larger.
        return at_ == expression_.size() ? place : std::nullopt;
      }
      if (!step(op) || has_failed_ || stack_.size() > kDeepestStack) return {};
    }
    if (stack_.empty()) return {};
    return Location{Location::Kind::Address, stack_.back()};
  }

 private:
  // Handles operations that describe the value's location instead of computing it.
  std::optional<Location> last_word(const Dwarf_Op& op) {
    if (is_between(op.atom, DW_OP_reg0, DW_OP_reg31)) {
      return Location{Location::Kind::Register, std::uint64_t{op.atom} - DW_OP_reg0};
    }
    if (op.atom == DW_OP_regx) return Location{Location::Kind::Register, op.number};
    if (op.atom == DW_OP_stack_value && !stack_.empty()) {
      return Location{Location::Kind::Value, stack_.back()};
    }
    return {};
  }

  bool step(const Dwarf_Op& op) {
    return push_constant(op) || push_place(op) || shuffle(op) || compute(op) || jump(op);
  }

  bool push_constant(const Dwarf_Op& op) {
    if (is_between(op.atom, DW_OP_lit0, DW_OP_lit31)) {
      push(std::uint64_t{op.atom} - DW_OP_lit0);
      return true;
    }
    switch (op.atom) {
      case DW_OP_const1u:
      case DW_OP_const1s:
      case DW_OP_const2u:
      case DW_OP_const2s:
      case DW_OP_const4u:
      case DW_OP_const4s:
      case DW_OP_const8u:
      case DW_OP_const8s:
      case DW_OP_constu:
      case DW_OP_consts: push(op.number); return true;
      case DW_OP_addr: push(op.number + context_.bias); return true;
      case DW_OP_nop: return true;
      default: return false;
    }
  }

  // Pushes addresses that depend on the frame, and the values there.
  bool push_place(const Dwarf_Op& op) {
    if (is_between(op.atom, DW_OP_breg0, DW_OP_breg31)) {
      push(context_.state.at(op.atom - DW_OP_breg0), op.number);
      return true;
    }
    switch (op.atom) {
      case DW_OP_bregx: push(context_.state.at(op.number), op.number2); return true;
      case DW_OP_fbreg: push(context_.frame_base, op.number); return true;
      case DW_OP_call_frame_cfa: push(context_.cfa, 0); return true;
      case DW_OP_deref: push(load(pop(), 8), 0); return true;
      case DW_OP_deref_size: push(load(pop(), op.number), 0); return true;
      default: return false;
    }
  }

  bool shuffle(const Dwarf_Op& op) {
    switch (op.atom) {
      case DW_OP_dup: pick(0); return true;
      case DW_OP_over: pick(1); return true;
      case DW_OP_pick: pick(op.number); return true;
      case DW_OP_drop: pop(); return true;
      case DW_OP_swap: {
        const std::uint64_t top = pop();
        const std::uint64_t below = pop();
        push(top);
        push(below);
        return true;
      }
      default: return false;
    }
  }

  bool compute(const Dwarf_Op& op) {
    switch (op.atom) {
      case DW_OP_plus_uconst: push(pop() + op.number); return true;
      case DW_OP_neg: push(0 - pop()); return true;
      case DW_OP_not: push(~pop()); return true;
      default: return combine(op.atom) || compare(op.atom);
    }
  }

  bool combine(unsigned atom) {
    if (!is_between(atom, DW_OP_and, DW_OP_xor)) return false;
    if (atom == DW_OP_div || atom == DW_OP_mod || atom == DW_OP_neg || atom == DW_OP_not ||
        atom == DW_OP_plus_uconst) {
      return false;
    }
    const std::uint64_t right = pop();
    const std::uint64_t left = pop();
    const bool is_far = right >= 64;
    switch (atom) {
      case DW_OP_and: push(left & right); return true;
      case DW_OP_minus: push(left - right); return true;
      case DW_OP_mul: push(left * right); return true;
      case DW_OP_or: push(left | right); return true;
      case DW_OP_plus: push(left + right); return true;
      case DW_OP_shl: push(is_far ? 0 : left << right); return true;
      case DW_OP_shr: push(is_far ? 0 : left >> right); return true;
      case DW_OP_xor: push(left ^ right); return true;
      default: return false;
    }
  }

  bool compare(unsigned atom) {
    if (!is_between(atom, DW_OP_eq, DW_OP_ne)) return false;
    const auto right = static_cast<std::int64_t>(pop());
    const auto left = static_cast<std::int64_t>(pop());
    switch (atom) {
      case DW_OP_eq: push(left == right ? 1 : 0); return true;
      case DW_OP_ge: push(left >= right ? 1 : 0); return true;
      case DW_OP_gt: push(left > right ? 1 : 0); return true;
      case DW_OP_le: push(left <= right ? 1 : 0); return true;
      case DW_OP_lt: push(left < right ? 1 : 0); return true;
      case DW_OP_ne: push(left != right ? 1 : 0); return true;
      default: return false;
    }
  }

  // Jumps to another operation. libdw gives the offset of each operation; the distance of a jump
  // counts from the end of its operation.
  bool jump(const Dwarf_Op& op) {
    if (op.atom != DW_OP_skip && op.atom != DW_OP_bra) return false;
    if (op.atom == DW_OP_bra && pop() == 0) return true;
    constexpr std::uint64_t kJumpBytes = 3;
    const auto distance =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int16_t>(op.number)));
    const std::uint64_t target = op.offset + kJumpBytes + distance;
    for (at_ = 0; at_ < expression_.size() && expression_[at_].offset < target; ++at_) {
    }
    return at_ == expression_.size() || expression_[at_].offset == target;
  }

  void push(std::uint64_t value) { stack_.push_back(value); }
  void push(std::optional<std::uint64_t> base, std::uint64_t offset) {
    if (!base) has_failed_ = true;
    push(base.value_or(0) + offset);
  }
  std::uint64_t pop() {
    if (stack_.empty()) {
      has_failed_ = true;
      return 0;
    }
    const std::uint64_t value = stack_.back();
    stack_.pop_back();
    return value;
  }
  void pick(std::uint64_t depth) {
    if (depth >= stack_.size()) {
      has_failed_ = true;
      return;
    }
    push(stack_[stack_.size() - 1 - depth]);
  }
  [[nodiscard]] std::optional<std::uint64_t> load(std::uint64_t at, std::uint64_t bytes) const {
    if (bytes == 0 || bytes > 8) return {};
    std::uint64_t value = 0;
    const auto into = std::as_writable_bytes(std::span(&value, 1)).first(bytes);
    if (!context_.memory.read(RemoteAddr{at}, into)) return {};
    return value;
  }

  std::span<const Dwarf_Op> expression_;
  const LocationContext& context_;
  std::size_t at_ = 0;
  std::vector<std::uint64_t> stack_;
  bool has_failed_ = false;  // an input was unknown
};

}  // namespace

std::optional<Location> follow(std::span<const Dwarf_Op> expression,
                               const LocationContext& context,
                               std::optional<std::uint64_t> initial) {
  return Follower(expression, context).run(initial);
}

}  // namespace heapattach::unwind
