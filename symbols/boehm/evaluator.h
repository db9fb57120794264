#pragma once

#include <vector>

#include "attach/base/remote_addr.h"
#include "symbols/boehm/expression.h"
#include "symbols/boehm/machine.h"
#include "symbols/code/disassembler.h"

namespace heapattach::boehm {

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
// yields no paths.
std::vector<FunctionPath> evaluate(ExprPool& pool,
                                   const Disassembler& disassembler,
                                   const CodeSource& source,
                                   RemoteAddr entry,
                                   const EvaluationLimits& limits);

}  // namespace heapattach::boehm
