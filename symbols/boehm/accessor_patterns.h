#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <utility>

#include "attach/base/remote_addr.h"
#include "symbols/code/expression.h"

namespace heapattach::boehm {

inline constexpr std::uint64_t kPatternWord = 8;

// The expression ((p >> shift) & mask) * 8, where p is the first argument.
struct Index {
  unsigned shift = 0;
  std::uint64_t mask = 0;
};

// The expression load(base + offset).
struct Field {
  Expr base{};
  std::uint64_t offset = 0;
};

struct Slot {
  Expr base{};  // Constant or an expression
  Index index;
};

// Recognises the expressions of which accessor functions consist; accessors.cpp lists them.
class Matcher {
 public:
  explicit Matcher(const ExprPool& pool) : pool_(pool) {}

  // Recognises p >> shift, without a mask. Returns the shift.
  [[nodiscard]] std::optional<unsigned> shifted_argument(Expr expr) const {
    const ExprNode& node = pool_.at(expr);
    if (node.op != ExprOp::Bits || !is_argument(node.left) || node.shift <= 0) return std::nullopt;
    const auto shift = static_cast<unsigned>(node.shift);
    if (node.mask != ~std::uint64_t{0} >> shift) return std::nullopt;
    return shift;
  }

  [[nodiscard]] std::optional<Index> index(Expr expr) const {
    const ExprNode& node = pool_.at(expr);
    if (node.op != ExprOp::Bits || !is_argument(node.left) || node.shift < 0) return std::nullopt;
    const std::uint64_t mask = node.mask / kPatternWord;
    const bool is_run = node.mask % kPatternWord == 0 && mask != 0 && std::has_single_bit(mask + 1);
    if (!is_run) return std::nullopt;
    return Index{static_cast<unsigned>(node.shift) + 3, mask};
  }

  [[nodiscard]] std::optional<Field> field(Expr expr, unsigned width) const {
    const ExprNode& node = pool_.at(expr);
    if (node.op != ExprOp::Load || node.width != width) return std::nullopt;
    return offset_from(node.left);
  }

  [[nodiscard]] std::optional<Field> offset_from(Expr address) const {
    const ExprNode& sum = pool_.at(address);
    if (sum.op != ExprOp::Sum) return Field{address, 0};
    if (sum.terms.size() != 1 || sum.terms[0].factor != 1) return std::nullopt;
    return Field{sum.terms[0].of, sum.constant};
  }

  // Recognises load(base + index).
  [[nodiscard]] std::optional<Slot> header_slot(Expr expr) const {
    const ExprNode& node = pool_.at(expr);
    if (node.op != ExprOp::Load || node.width != kPatternWord) return std::nullopt;
    const ExprNode& sum = pool_.at(node.left);
    if (sum.op != ExprOp::Sum || sum.terms.size() != 2 || sum.constant != 0) return std::nullopt;
    for (const auto& [base, offset] : {std::pair(0, 1), std::pair(1, 0)}) {
      const auto found = index(sum.terms[static_cast<std::size_t>(offset)].of);
      const Expr whole = sum.terms[static_cast<std::size_t>(base)].of;
      if (found && sum.terms[0].factor == 1 && sum.terms[1].factor == 1) return Slot{whole, *found};
    }
    return std::nullopt;
  }

  struct TopSlot {
    RemoteAddr top_index;
    Index index;
  };
  // Recognises load(constant + index).
  [[nodiscard]] std::optional<TopSlot> top_slot(Expr expr) const {
    const ExprNode& node = pool_.at(expr);
    if (node.op != ExprOp::Load || node.width != kPatternWord) return std::nullopt;
    const ExprNode& sum = pool_.at(node.left);
    if (sum.op != ExprOp::Sum || sum.terms.size() != 1 || sum.terms[0].factor != 1) {
      return std::nullopt;
    }
    const auto found = index(sum.terms[0].of);
    if (!found) return std::nullopt;
    return TopSlot{RemoteAddr{sum.constant}, *found};
  }

  [[nodiscard]] std::optional<std::uint64_t> constant(Expr expr) const {
    return pool_.constant_of(expr);
  }

  // Recognises the test whether an int variable is 0. Returns the variable.
  [[nodiscard]] std::optional<RemoteAddr> condition_on_variable(Expr expr) const {
    // setcc writes only one byte; the compiler may know that the other bytes are 0.
    if (pool_.at(expr).op == ExprOp::Insert) expr = pool_.at(expr).right;
    const ExprNode& node = pool_.at(expr);
    if (node.op != ExprOp::Condition || pool_.constant_of(node.right) != 0) return std::nullopt;
    return variable(node.left, 4);
  }

  // Recognises load(constant). Returns the constant.
  [[nodiscard]] std::optional<RemoteAddr> variable(Expr expr, unsigned width) const {
    const ExprNode& node = pool_.at(expr);
    if (node.op != ExprOp::Load || node.width != width) return std::nullopt;
    const auto address = pool_.constant_of(node.left);
    if (!address) return std::nullopt;
    return RemoteAddr{*address};
  }

  // Recognises a variable of one byte that is returned as an int. Returns the variable.
  [[nodiscard]] std::optional<RemoteAddr> sign_extended_byte(Expr expr) const {
    const ExprNode* node = &pool_.at(expr);
    if (node->op == ExprOp::Bits && node->shift == 0) node = &pool_.at(node->left);
    if (node->op != ExprOp::Insert || node->width != 1) return std::nullopt;
    return variable(node->right, 1);
  }

  // Whether the expression is the first argument.
  [[nodiscard]] bool is_argument(Expr expr) const {
    const ExprNode& node = pool_.at(expr);
    return node.op == ExprOp::Argument && node.constant == 0;
  }

 private:
  const ExprPool& pool_;
};

}  // namespace heapattach::boehm
