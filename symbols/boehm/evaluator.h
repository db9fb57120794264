#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attach/remote_addr.h"
#include "symbols/boehm/expression.h"
#include "symbols/disassembler.h"

namespace heapattach::boehm {

// Two values that the code compared, in no order.
struct Comparison {
  Expr left{};
  Expr right{};
};

// A value written to memory other than the function's own frame.
struct Store {
  Expr address{};
  Expr value{};
  unsigned width = 8;
};

// One way through a function, from its entry to a return.
struct FunctionPath {
  Expr returned{};
  std::vector<Comparison> comparisons;
  std::vector<Store> stores;
};

// Where the evaluator finds the function.
struct CodeSource {
  // The code from an address on; empty where there is none.
  std::function<std::span<const std::byte>(RemoteAddr)> code;
  // The word at an address whose content never changes, such as an entry of the global offset
  // table; none for all others.
  std::function<std::optional<std::uint64_t>(RemoteAddr)> constant;
};

struct EvaluationLimits {
  unsigned call_depth = 3;  // calls deeper than this are not followed; they return an unknown
  unsigned visits = 2;      // of one conditional jump on one path: how often loops are unrolled
  unsigned paths = 64;      // after which the others are left out
  unsigned instructions = 20000;  // over all paths, likewise
};

// Follows the data flow of the function at `entry` on every path, with its arguments unknown. Knows
// the integer instructions that compilers make of address arithmetic; what it does not know makes
// the registers that it writes unknown. Never fails: code that cannot be followed has no paths.
std::vector<FunctionPath> evaluate(ExprPool& pool,
                                   const Disassembler& disassembler,
                                   const CodeSource& source,
                                   RemoteAddr entry,
                                   const EvaluationLimits& limits);

}  // namespace heapattach::boehm
