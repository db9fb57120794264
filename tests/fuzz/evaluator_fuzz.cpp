#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>

#include "attach/arch/processors.h"
#include "symbols/boehm/arch/evaluator.h"

// Follows the data flow in a target's machine code on every path.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapattach;
  static constexpr RemoteAddr kCode{0x401000};
  static const Disassembler disassembler = Disassembler::open(kOwnProcessor).value();
  const std::span<const std::byte> code = std::as_bytes(std::span(data, size));
  boehm::CodeSource source;
  source.code = [code](RemoteAddr at) {
    const std::uint64_t offset = at - kCode;
    return offset < code.size() ? code.subspan(offset) : std::span<const std::byte>();
  };
  source.constant = [](RemoteAddr at) -> std::optional<std::uint64_t> {
    if ((at.value & 1U) != 0) return std::nullopt;
    return at.value * 0x9e3779b97f4a7c15;
  };
  ExprPool pool;
  const boehm::EvaluationLimits limits{.instructions = 2000};
  if (boehm::evaluate(pool, disassembler, source, kCode, limits).size() > limits.paths)
    std::abort();
  return 0;
}
