#include <array>
#include <cstring>
#include <span>

#include "symbols/ruby/arch/collector_flags.h"

namespace heapattach::ruby {

// The code loads the object space's address from the machine, and then the flags from there.
CollectorFlags find_collector_flags(const MemoryReader& memory, RemoteAddr rb_during_gc) {
  constexpr std::size_t kCodeBytes = 64;
  constexpr std::uint8_t kReturn = 0xc3;
  constexpr std::uint8_t kPlace = 0xc0;     // in the byte that says where an operand is
  constexpr std::uint8_t kNear = 0x40;      // a register and a number of 8 bits
  constexpr std::uint8_t kFar = 0x80;       // a register and a number of 32 bits
  constexpr std::uint8_t kComplicated = 4;  // two registers
  std::array<std::uint8_t, kCodeBytes> code{};
  CollectorFlags found;
  if (!memory.read(rb_during_gc, std::as_writable_bytes(std::span(code)))) return found;
  for (std::size_t i = 1; i + 6 < code.size() && code[i] != kReturn; ++i) {
    const bool has_register = (code[i + 1] & 7) != kComplicated;
    const bool loads_word = code[i - 1] == 0x48 && code[i] == 0x8b;
    if (loads_word && has_register && (code[i + 1] & kPlace) == kFar) {
      std::uint32_t offset = 0;
      std::memcpy(&offset, &code[i + 2], sizeof offset);
      if (offset % 8 == 0 && offset < 0xffff)
        found.object_space = static_cast<std::uint16_t>(offset);
    }
    // A load of 32 bits or of a byte, or a test of a byte.
    const bool reads = code[i] == 0x8b || code[i] == 0xf6 || code[i] == 0xb6;
    const std::uint8_t number = code[i + 2];
    const bool is_near = has_register && (code[i + 1] & kPlace) == kNear;
    if (!reads || !is_near || number < 16 || number > 64 || number % 4 != 0) continue;
    if (found.object_space == 0) break;
    found.flags = number;
    return found;
  }
  return {};
}

}  // namespace heapattach::ruby
