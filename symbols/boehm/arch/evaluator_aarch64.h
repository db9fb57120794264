#pragma once

#include "symbols/boehm/arch/evaluator.h"

namespace heapattach::boehm::aarch64 {

std::vector<FunctionPath> evaluate(ExprPool& pool,
                                   const Disassembler& disassembler,
                                   const CodeSource& source,
                                   RemoteAddr entry,
                                   const EvaluationLimits& limits);

}  // namespace heapattach::boehm::aarch64
