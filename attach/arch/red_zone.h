#pragma once

#include <array>
#include <cstdint>

#include <elf.h>

#include "attach/arch/by_processor.h"

namespace heapattach {

// Functions that call no others may use this much memory below their stack pointer (System V ABI
// for x86-64): the most that any processor allows.
inline constexpr std::uint64_t kRedZoneBytes = 128;

struct RedZone {
  std::uint16_t machine = 0;
  std::uint64_t bytes = 0;
};
// aarch64 has none: signals may overwrite memory below the stack pointer (AAPCS64).
inline constexpr std::array kRedZones{RedZone{EM_X86_64, kRedZoneBytes}, RedZone{EM_AARCH64, 0}};

// The size of the red zone on a processor (e_machine); 0 if it is not known.
[[nodiscard]] constexpr std::uint64_t red_zone_bytes(std::uint16_t machine) {
  const RedZone* const known = row_for(kRedZones, machine);
  return known == nullptr ? 0 : known->bytes;
}

}  // namespace heapattach
