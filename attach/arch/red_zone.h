#pragma once

#include <cstdint>

#include <elf.h>

namespace heapattach {

// Functions that call no others may use this much memory below their stack pointer (System V ABI
// for x86-64).
inline constexpr std::uint64_t kRedZoneBytes = 128;

// The same for any processor (e_machine). Signals may overwrite what is there on aarch64 (AAPCS64).
[[nodiscard]] constexpr std::uint64_t red_zone_bytes(std::uint16_t machine) {
  return machine == EM_AARCH64 ? 0 : kRedZoneBytes;
}

}  // namespace heapattach
