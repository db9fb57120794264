#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace heapattach {

// The content of a register or a memory cell, as an expression of a function's arguments.
// Expressions are numbers in a pool. Equal expressions have equal numbers, so `==` compares whole
// expressions.
enum class Expr : std::uint32_t {};

enum class ExprOp : std::uint8_t {
  Unknown,    // `constant` distinguishes them
  Constant,   // `constant`
  Argument,   // the `constant`-th, from 0
  Stack,      // the stack pointer at entry
  Load,       // `width` bytes at `left`, zero-extended
  Bits,       // (`left` >> shift) & mask; a negative shift goes left
  Insert,     // the low `width` bytes of `right`, the other bytes of `left`
  Condition,  // 0 or 1: the result of a comparison of `left` and `right`
  Sum,        // `constant` plus terms, each times its factor
};

struct ExprTerm {
  Expr of{};
  std::uint64_t factor = 1;  // modulo 2^64, so that -1 subtracts
  friend auto operator<=>(const ExprTerm&, const ExprTerm&) = default;
};

struct ExprNode {
  ExprOp op = ExprOp::Unknown;
  std::uint64_t constant = 0;
  Expr left{};
  Expr right{};
  int shift = 0;
  std::uint64_t mask = 0;
  unsigned width = 8;
  std::vector<ExprTerm> terms{};  // sorted, factors are not 0
  friend auto operator<=>(const ExprNode&, const ExprNode&) = default;
};

// Creates expressions in a normal form that does not depend on the instructions that computed them:
// shifts, masks and truncations of one value become one Bits node, additions and scalings one Sum.
// Then two compilers' versions of `table[(p >> 22) & 0x7ff]` are the same expression.
class ExprPool {
 public:
  [[nodiscard]] const ExprNode& at(Expr expr) const {
    return nodes_[static_cast<std::size_t>(expr)];
  }

  Expr unknown();
  Expr constant(std::uint64_t value);
  Expr argument(unsigned number);
  Expr stack();
  Expr load(Expr address, unsigned width);
  Expr insert(Expr old, Expr low, unsigned width);
  Expr condition(Expr left, Expr right);
  Expr add(Expr a, Expr b);
  Expr subtract(Expr a, Expr b);
  Expr multiply(Expr a, std::uint64_t factor);
  Expr shift_right(Expr a, unsigned count);  // logical
  Expr bit_and(Expr a, std::uint64_t mask);
  Expr truncate(Expr a, unsigned width);

  [[nodiscard]] std::optional<std::uint64_t> constant_of(Expr expr) const;
  // The bits of it that can be 1.
  [[nodiscard]] std::uint64_t possible_bits(Expr expr) const;

 private:
  Expr pooled(ExprNode node);
  Expr bits(Expr base, int shift, std::uint64_t mask);
  Expr sum(std::uint64_t constant, std::vector<ExprTerm> terms);

  std::vector<ExprNode> nodes_;
  std::map<ExprNode, Expr> numbers_;
  std::uint64_t unknowns_ = 0;
};

[[nodiscard]] constexpr std::uint64_t mask_of_width(unsigned bytes) {
  return bytes >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * bytes)) - 1;
}

}  // namespace heapattach
