#include "symbols/crystal/allocation_windows.h"

#include <array>

namespace heapattach::crystal {

std::size_t begin_of_size(const Code& code, std::size_t at) {
  const auto is = [&](std::size_t back, std::uint8_t value) {
    return back <= at && byte_at(code.bytes, at - back) == value;
  };
  if (is(8, 0x31) && is(6, 0x89) && is(4, 0x48) && is(3, 0x83) && is(2, 0xc7)) return at - 8;
  if (is(11, 0x31) && is(9, 0x89) && is(7, 0x48) && is(6, 0x81) && is(5, 0xc7)) return at - 11;
  if (is(5, 0xbf)) return at - 5;
  return at;
}

// "movl $n,(register)" (c7 /0), or a "mov %ecx,(register)" (89 /r) soon after a load to the same
// register (8b /r).
bool stores_constant(std::span<const std::byte> body) {
  constexpr std::size_t kNear = 16;
  std::array<std::size_t, 8> loaded_at{};  // by register: the end of the last load
  for (std::size_t i = 0; i + 2 < body.size(); ++i) {
    const std::uint8_t code = byte_at(body, i);
    const std::uint8_t operand = byte_at(body, i + 1);
    const std::size_t reg = operand >> 3U & 7U;
    if (code == 0x8b && operand < 0xc0) loaded_at[reg] = i + 1;
    const bool is_load = code == 0x89 && loaded_at[reg] != 0 && i + 1 - loaded_at[reg] <= kNear;
    const bool is_constant = code == 0xc7 && i + 6 <= body.size();
    if (!is_constant && !is_load) continue;
    const std::uint8_t place = is_load ? operand & 0xc7U : operand;
    const bool is_register = place < 8 && place != 5;
    const bool is_register_and_0 = place >= 0x40 && place < 0x48 && byte_at(body, i + 2) == 0;
    if (is_register || is_register_and_0) return true;
  }
  return false;
}

}  // namespace heapattach::crystal
