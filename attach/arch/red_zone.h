#pragma once

#include <cstdint>

#include <elf.h>

namespace heapattach {

// Functions that call no others may use this much memory below their stack pointer (System V ABI
// for x86-64): the most that any processor allows.
inline constexpr std::uint64_t kRedZoneBytes = 128;

// The size of the red zone on any processor (e_machine). aarch64 has none: signals may overwrite
// memory below the stack pointer (AAPCS64).
[[nodiscard]] constexpr std::uint64_t red_zone_bytes(std::uint16_t machine) {
  return machine == EM_AARCH64 ? 0 : kRedZoneBytes;
}

}  // namespace heapattach
