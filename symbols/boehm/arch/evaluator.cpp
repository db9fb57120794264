#include "symbols/boehm/arch/evaluator.h"

#include <array>

#include <elf.h>

#include "attach/arch/by_processor.h"
#include "symbols/boehm/arch/evaluator_aarch64.h"
#include "symbols/boehm/arch/evaluator_x86_64.h"

namespace heapattach::boehm {

namespace {

struct Evaluator {
  std::uint16_t machine;
  decltype(&evaluate) run;
};

// One for each processor.
constexpr std::array kEvaluators{Evaluator{EM_X86_64, &x86_64::evaluate},
                                 Evaluator{EM_AARCH64, &aarch64::evaluate}};

}  // namespace

std::vector<FunctionPath> evaluate(ExprPool& pool,
                                   const Disassembler& disassembler,
                                   const CodeSource& source,
                                   RemoteAddr entry,
                                   const EvaluationLimits& limits) {
  const Evaluator* const found = row_for(kEvaluators, disassembler.machine());
  if (found == nullptr) return {};
  return found->run(pool, disassembler, source, entry, limits);
}

}  // namespace heapattach::boehm
