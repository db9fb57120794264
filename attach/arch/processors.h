#pragma once

#include <cstdint>

#include <elf.h>

namespace heapattach {

// The processor of this machine, and of every live target, as ELF files name it (e_machine).
#ifdef __x86_64__
inline constexpr std::uint16_t kOwnProcessor = EM_X86_64;
#else
inline constexpr std::uint16_t kOwnProcessor = EM_AARCH64;
#endif

// Whether we can read programs for the processor `machine` (e_machine): live ones only if the
// processor is ours, and core files in any case.
[[nodiscard]] constexpr bool is_known_processor(std::uint16_t machine) {
  return machine == EM_X86_64 || machine == EM_AARCH64;
}

// The words that refuse files for other processors.
inline constexpr const char* kForeignFile = "an ELF file, but not for x86-64 or aarch64";

}  // namespace heapattach
