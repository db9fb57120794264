#include "attach/sandbox/filter_effect.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>

#include <linux/seccomp.h>

#include "attach/arch/system_calls.h"

namespace heapattach {

namespace {

using Word = std::optional<std::uint32_t>;  // none: it depends on the call's arguments

// The registers and the memory of the kernel's classic BPF.
struct State {
  Word a = 0;
  Word x = 0;
  std::array<Word, BPF_MEMWORDS> memory{};

  // Two paths meet: only values that are the same on both stay known.
  void join(const State& other) {
    if (a != other.a) a.reset();
    if (x != other.x) x.reset();
    for (std::size_t i = 0; i < memory.size(); ++i) {
      if (memory[i] != other.memory[i]) memory[i].reset();
    }
  }
};

FilterEffect effect_of_verdict(Word verdict) {
  if (!verdict) return FilterEffect::MayHarm;
  switch (*verdict & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ALLOW:
    case SECCOMP_RET_LOG: return FilterEffect::Runs;
    case SECCOMP_RET_ERRNO: {
      // With 0, the call seems to have worked, and clone to have made the child. From 512 on are
      // the kernel's own numbers for calls that begin again.
      const std::uint32_t error = *verdict & SECCOMP_RET_DATA;
      return error >= 1 && error < 512 ? FilterEffect::MayFail : FilterEffect::MayHarm;
    }
    default: return FilterEffect::MayHarm;
  }
}

Word calculated(unsigned operation, Word left, Word right) {
  if (!left || (!right && operation != BPF_NEG)) return std::nullopt;
  switch (operation) {
    case BPF_ADD: return *left + *right;
    case BPF_SUB: return *left - *right;
    case BPF_MUL: return *left * *right;
    case BPF_DIV: return *right == 0 ? Word() : *left / *right;
    case BPF_MOD: return *right == 0 ? Word() : *left % *right;
    case BPF_AND: return *left & *right;
    case BPF_OR: return *left | *right;
    case BPF_XOR: return *left ^ *right;
    case BPF_LSH: return *right < 32 ? Word(*left << *right) : Word();
    case BPF_RSH: return *right < 32 ? Word(*left >> *right) : Word();
    case BPF_NEG: return ~*left + 1;
    default: return std::nullopt;
  }
}

// Whether a jump is taken; none if either is possible.
std::optional<bool> is_taken(unsigned test, Word left, Word right) {
  if (!left || !right) return std::nullopt;
  switch (test) {
    case BPF_JEQ: return *left == *right;
    case BPF_JGT: return *left > *right;
    case BPF_JGE: return *left >= *right;
    case BPF_JSET: return (*left & *right) != 0;
    default: return std::nullopt;
  }
}

// Follows all paths at once, from the first instruction to the last: jumps go forward only, so all
// paths to an instruction have been followed when its turn comes. Instructions that no path reaches
// cost nothing: the process is stopped meanwhile.
class Follower {
 public:
  Follower(std::span<const sock_filter> filter, long number)
      : filter_(filter), number_(static_cast<std::uint32_t>(number)) {}

  FilterEffect follow() {
    reach(0, State());
    while (!states_.empty() && worst_ != FilterEffect::MayHarm) {
      const auto next = states_.extract(states_.begin());
      step(next.key(), next.mapped());
    }
    return worst_;
  }

 private:
  void step(std::size_t at, State& state) {
    const sock_filter& code = filter_[at];
    switch (BPF_CLASS(code.code)) {
      case BPF_LD: state.a = loaded(code, state); break;
      case BPF_LDX: state.x = loaded(code, state); break;
      case BPF_ST: store(code, state, state.a); break;
      case BPF_STX: store(code, state, state.x); break;
      case BPF_ALU:
        if (may_divide_by_zero(code, state)) worst_ = FilterEffect::MayHarm;
        state.a = calculated(BPF_OP(code.code), state.a, operand(code, state));
        break;
      case BPF_MISC: {
        if (BPF_MISCOP(code.code) == BPF_TAX) {
          state.x = state.a;
        } else {
          state.a = state.x;
        }
        break;
      }
      case BPF_JMP: return jump(at, code, state);
      default: {  // BPF_RET
        const Word verdict = BPF_RVAL(code.code) == BPF_A ? state.a : Word(code.k);
        worst_ = std::max(worst_, effect_of_verdict(verdict));
        return;
      }
    }
    reach(at + 1, state);
  }

  // Such a division ends the filter with 0, which kills the thread.
  static bool may_divide_by_zero(const sock_filter& code, const State& state) {
    const unsigned operation = BPF_OP(code.code);
    return (operation == BPF_DIV || operation == BPF_MOD) && operand(code, state).value_or(0) == 0;
  }

  void jump(std::size_t at, const sock_filter& code, const State& state) {
    if (BPF_OP(code.code) == BPF_JA) return reach(at + 1 + code.k, state);
    const auto taken = is_taken(BPF_OP(code.code), state.a, operand(code, state));
    if (taken.value_or(true)) reach(at + 1 + code.jt, state);
    if (!taken.value_or(false)) reach(at + 1 + code.jf, state);
  }

  void reach(std::size_t at, const State& state) {
    if (at >= filter_.size()) {  // the kernel accepts no such filter
      worst_ = FilterEffect::MayHarm;
      return;
    }
    const auto [there, is_new] = states_.try_emplace(at, state);
    if (!is_new) there->second.join(state);
  }

  [[nodiscard]] Word loaded(const sock_filter& code, const State& state) const {
    switch (BPF_MODE(code.code)) {
      case BPF_IMM: return code.k;
      case BPF_LEN: return static_cast<std::uint32_t>(sizeof(seccomp_data));
      case BPF_MEM: return code.k < state.memory.size() ? state.memory[code.k] : Word();
      default: break;
    }
    if (code.k == offsetof(seccomp_data, nr)) return number_;
    if (code.k == offsetof(seccomp_data, arch)) return kAuditArchitecture;
    return std::nullopt;
  }

  static void store(const sock_filter& code, State& state, Word value) {
    if (code.k < state.memory.size()) state.memory[code.k] = value;
  }

  static Word operand(const sock_filter& code, const State& state) {
    return BPF_SRC(code.code) == BPF_X ? state.x : Word(code.k);
  }

  std::span<const sock_filter> filter_;
  std::uint32_t number_;
  std::map<std::size_t, State> states_;  // before the instructions that are reached, to be followed
  FilterEffect worst_ = FilterEffect::Runs;
};

}  // namespace

FilterEffect effect_of(std::span<const sock_filter> filter, long number) {
  return Follower(filter, number).follow();
}

}  // namespace heapattach
