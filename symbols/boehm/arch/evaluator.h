#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attach/base/remote_addr.h"
#include "symbols/code/disassembler.h"
#include "symbols/code/expression.h"

namespace heapattach::boehm {

// Two values that the code compared, in either order.
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

// One path through a function, from its entry to a return.
struct FunctionPath {
  Expr returned{};
  std::vector<Comparison> comparisons;
  std::vector<Store> stores;
};

// Gives the evaluator access to the function's code.
struct CodeSource {
  // The code from an address on; empty if there is none.
  std::function<std::span<const std::byte>(RemoteAddr)> code;
  // The word at an address, if its content never changes, as in the global offset table; otherwise
  // none.
  std::function<std::optional<std::uint64_t>(RemoteAddr)> constant;
};

struct EvaluationLimits {
  unsigned call_depth = 3;  // deeper calls are not followed, and return an unknown value
  unsigned visits =
      2;  // of one conditional jump on one path, which limits how often loops are unrolled
  unsigned paths = 64;            // further paths are dropped
  unsigned instructions = 20000;  // over all paths
};

// Follows the data flow of the function at `entry` along every path, with unknown arguments.
// Understands the integer instructions that compilers use for address arithmetic; any other
// instruction makes the registers that it writes unknown. Never fails: code that cannot be followed
// yields no paths, and neither does code of an unknown processor.
std::vector<FunctionPath> evaluate(ExprPool& pool,
                                   const Disassembler& disassembler,
                                   const CodeSource& source,
                                   RemoteAddr entry,
                                   const EvaluationLimits& limits);

}  // namespace heapattach::boehm
