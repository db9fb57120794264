#include "symbols/ruby/arch/collector_flags.h"

#include <array>
#include <cstring>
#include <optional>

#include <elf.h>

#include "symbols/code/arch/instructions_aarch64.h"

namespace heapattach::ruby {

namespace {

// The code loads the object space's address from the machine, and then the flags from there.
// The flags are not far from the beginning of the object space.
bool may_be_flags(std::uint32_t offset) {
  constexpr std::uint32_t kNearest = 16;
  constexpr std::uint32_t kFarthest = 64;
  return offset >= kNearest && offset <= kFarthest && offset % 4 == 0;
}

CollectorFlags in_x86_64(std::span<const std::byte> bytes) {
  constexpr std::uint8_t kReturn = 0xc3;
  constexpr std::uint8_t kPlace = 0xc0;     // in the byte that says where an operand is
  constexpr std::uint8_t kNear = 0x40;      // a register and a number of 8 bits
  constexpr std::uint8_t kFar = 0x80;       // a register and a number of 32 bits
  constexpr std::uint8_t kComplicated = 4;  // two registers
  const auto code = [&](std::size_t at) { return std::to_integer<std::uint8_t>(bytes[at]); };
  CollectorFlags found;
  for (std::size_t i = 1; i + 6 < bytes.size() && code(i) != kReturn; ++i) {
    const bool has_register = (code(i + 1) & 7) != kComplicated;
    const bool loads_word = code(i - 1) == 0x48 && code(i) == 0x8b;
    if (loads_word && has_register && (code(i + 1) & kPlace) == kFar) {
      std::uint32_t offset = 0;
      std::memcpy(&offset, &bytes[i + 2], sizeof offset);
      if (offset % 8 == 0 && offset < 0xffff)
        found.object_space = static_cast<std::uint16_t>(offset);
    }
    // A load of 32 bits or of a byte, or a test of a byte.
    const bool reads = code(i) == 0x8b || code(i) == 0xf6 || code(i) == 0xb6;
    const std::uint8_t number = code(i + 2);
    const bool is_near = has_register && (code(i + 1) & kPlace) == kNear;
    if (!reads || !is_near || !may_be_flags(number)) continue;
    if (found.object_space == 0) break;
    found.flags = number;
    return found;
  }
  return {};
}

// The offset and the registers of a load (ldr, or ldrb) from a register and a number.
struct Load {
  std::uint32_t from = 0;
  std::uint32_t into = 0;
  std::uint32_t offset = 0;
};

std::optional<Load> load_of(std::uint32_t word) {
  const std::uint32_t size = word >> 30U;  // the binary logarithm of how many bytes it loads
  if ((word & 0x3fc00000U) != 0x39400000U) return std::nullopt;
  return Load{word >> 5U & 31U, word & 31U, (word >> 10U & 0xfffU) << size};
}

// The last two loads before the return. The second one uses the first one's result as its address.
CollectorFlags in_aarch64(std::span<const std::byte> code) {
  constexpr std::uint32_t kReturn = 0xd65f03c0;
  constexpr std::uint32_t kMost = 0xffff;
  std::array<Load, 2> last{};
  for (std::size_t i = 0; aarch64::word_at(code, i) != kReturn; ++i) {
    if (aarch64::word_at(code, i) == 0) return {};  // the end of the code
    if (const auto load = load_of(aarch64::word_at(code, i))) last = {last[1], *load};
  }
  const auto [space, flags] = last;
  if (flags.from != space.into || space.offset == 0 || space.offset > kMost) return {};
  if (!may_be_flags(flags.offset)) return {};
  return {static_cast<std::uint16_t>(space.offset), static_cast<std::uint16_t>(flags.offset)};
}

}  // namespace

CollectorFlags find_collector_flags(std::uint16_t machine, std::span<const std::byte> code) {
  if (machine == EM_X86_64) return in_x86_64(code);
  return machine == EM_AARCH64 ? in_aarch64(code) : CollectorFlags{};
}

}  // namespace heapattach::ruby
