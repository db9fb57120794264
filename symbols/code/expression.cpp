#include "symbols/code/expression.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace heapattach {

namespace {

// No accessor adds more terms; other code must not cost too much.
constexpr std::size_t kMostTerms = 16;

std::uint64_t shifted(std::uint64_t value, int right) {
  if (right >= 64 || right <= -64) return 0;
  return right >= 0 ? value >> right : value << -right;
}

}  // namespace

Expr ExprPool::pooled(ExprNode node) {
  const auto next = static_cast<Expr>(nodes_.size());
  const auto [found, is_new] = numbers_.try_emplace(node, next);
  if (is_new) nodes_.push_back(std::move(node));
  return found->second;
}

Expr ExprPool::unknown() {
  return pooled({.op = ExprOp::Unknown, .constant = unknowns_++});
}
Expr ExprPool::constant(std::uint64_t value) {
  return pooled({.op = ExprOp::Constant, .constant = value});
}
Expr ExprPool::argument(unsigned number) {
  return pooled({.op = ExprOp::Argument, .constant = number});
}
Expr ExprPool::stack() {
  return pooled({.op = ExprOp::Stack});
}
Expr ExprPool::load(Expr address, unsigned width) {
  return pooled({.op = ExprOp::Load, .left = address, .width = width});
}

Expr ExprPool::condition(Expr left, Expr right) {
  return pooled({.op = ExprOp::Condition, .left = left, .right = right});
}

Expr ExprPool::insert(Expr old, Expr low, unsigned width) {
  if (possible_bits(old) == 0) return bits(low, 0, mask_of_width(width));
  while (at(old).op == ExprOp::Insert && at(old).width <= width) old = at(old).left;
  return pooled({.op = ExprOp::Insert, .left = old, .right = low, .width = width});
}

std::optional<std::uint64_t> ExprPool::constant_of(Expr expr) const {
  const ExprNode& node = at(expr);
  if (node.op != ExprOp::Constant) return std::nullopt;
  return node.constant;
}

std::uint64_t ExprPool::possible_bits(Expr expr) const {
  const ExprNode& node = at(expr);
  switch (node.op) {
    case ExprOp::Constant: return node.constant;
    case ExprOp::Load: return mask_of_width(node.width);
    case ExprOp::Bits: return node.mask;
    case ExprOp::Condition: return 1;
    case ExprOp::Insert:
      return (possible_bits(node.left) & ~mask_of_width(node.width)) |
             (possible_bits(node.right) & mask_of_width(node.width));
    default: return ~std::uint64_t{0};
  }
}

// (x >> a) & b, (x << a) & b and their nestings all equal one such pair: the mask accounts for the
// bits that a shift dropped.
Expr ExprPool::bits(Expr base, int shift, std::uint64_t mask) {
  ExprNode node = at(base);
  if (node.op == ExprOp::Constant) return constant(shifted(node.constant, shift) & mask);
  if (node.op == ExprOp::Bits) {
    mask &= shifted(node.mask, shift);
    return bits(node.left, node.shift + shift, mask);
  }
  mask &= shifted(possible_bits(base), shift);
  if (mask == 0) return constant(0);
  if (node.op == ExprOp::Insert && shift == 0 && (mask & ~mask_of_width(node.width)) == 0) {
    return bits(node.right, 0, mask);
  }
  if (shift == 0 && mask == possible_bits(base)) return base;
  return pooled({.op = ExprOp::Bits, .left = base, .shift = shift, .mask = mask});
}

Expr ExprPool::sum(std::uint64_t constant_part, std::vector<ExprTerm> terms) {
  std::sort(terms.begin(), terms.end());
  std::vector<ExprTerm> merged;
  for (const ExprTerm& term : terms) {
    if (!merged.empty() && merged.back().of == term.of) {
      merged.back().factor += term.factor;
    } else {
      merged.push_back(term);
    }
  }
  std::erase_if(merged, [](const ExprTerm& term) { return term.factor == 0; });
  if (merged.empty()) return constant(constant_part);
  if (merged.size() > kMostTerms) return unknown();
  if (constant_part == 0 && merged.size() == 1 && merged[0].factor == 1) return merged[0].of;
  return pooled({.op = ExprOp::Sum, .constant = constant_part, .terms = std::move(merged)});
}

Expr ExprPool::add(Expr a, Expr b) {
  std::uint64_t constant_part = 0;
  std::vector<ExprTerm> terms;
  for (const Expr part : {a, b}) {
    const ExprNode& node = at(part);
    if (node.op == ExprOp::Constant || node.op == ExprOp::Sum) constant_part += node.constant;
    if (node.op == ExprOp::Sum) terms.insert(terms.end(), node.terms.begin(), node.terms.end());
    if (node.op != ExprOp::Constant && node.op != ExprOp::Sum) terms.push_back({part, 1});
  }
  return sum(constant_part, std::move(terms));
}

Expr ExprPool::subtract(Expr a, Expr b) {
  return add(a, multiply(b, ~std::uint64_t{0}));
}

Expr ExprPool::multiply(Expr a, std::uint64_t factor) {
  const ExprNode node = at(a);
  if (node.op == ExprOp::Constant) return constant(node.constant * factor);
  const bool is_shift = std::has_single_bit(factor);
  if (node.op != ExprOp::Sum) {
    if (is_shift) return bits(a, -std::countr_zero(factor), ~std::uint64_t{0});
    return sum(0, {{a, factor}});
  }
  Expr result = constant(node.constant * factor);
  for (const ExprTerm& term : node.terms) {
    const Expr scaled = term.factor == 1 && is_shift ? multiply(term.of, factor)
                                                     : sum(0, {{term.of, term.factor * factor}});
    result = add(result, scaled);
  }
  return result;
}

Expr ExprPool::shift_right(Expr a, unsigned count) {
  return bits(a, static_cast<int>(count), ~std::uint64_t{0} >> count);
}
Expr ExprPool::bit_and(Expr a, std::uint64_t mask) {
  return bits(a, 0, mask);
}
Expr ExprPool::truncate(Expr a, unsigned width) {
  return bits(a, 0, mask_of_width(width));
}

}  // namespace heapattach
