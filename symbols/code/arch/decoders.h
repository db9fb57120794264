#pragma once

#include <array>
#include <cstdint>

#include <capstone/capstone.h>
#include <elf.h>

namespace heapattach {

// Capstone's names of a processor.
struct Decoder {
  std::uint16_t machine;  // e_machine
  cs_arch family;
  cs_mode mode;
};
inline constexpr std::array kDecoders{Decoder{EM_X86_64, CS_ARCH_X86, CS_MODE_64},
                                      Decoder{EM_AARCH64, CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN}};

}  // namespace heapattach
