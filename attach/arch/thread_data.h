#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <elf.h>

#include "attach/arch/by_processor.h"

namespace heapattach {

// On x86-64, glibc's structure of a thread begins with its own address, and has it once more at
// this offset.
inline constexpr std::uint64_t kThreadSelfAt = 16;

// Offsets from a thread pointer to the data that the C library keeps there.
struct ThreadData {
  std::uint16_t machine = 0;
  // Where the address of the C library's data is. None: these data end at the thread pointer.
  std::optional<std::uint64_t> self_at;
  std::uint64_t vector_at = 0;  // of the vector with an entry for each module (dtv)
  // Thread-local variables end below this offset, unless there are unusually many.
  std::uint64_t variables_end = 0;
  // From the beginning of glibc's data (struct pthread) to the thread's number, since release 2.10:
  // after a header of 0x2c0 or 0xc0 bytes, and two links.
  std::uint64_t number_at = 0;
};

inline constexpr std::array kThreadData{ThreadData{.machine = EM_X86_64,
                                                   .self_at = kThreadSelfAt,
                                                   .vector_at = 8,
                                                   .variables_end = 0,
                                                   .number_at = 0x2c0 + 16},
                                        ThreadData{.machine = EM_AARCH64,
                                                   .self_at = {},
                                                   .vector_at = 0,
                                                   .variables_end = 0x4000,
                                                   .number_at = 0xc0 + 16}};

// The offsets for a processor (e_machine); null if it is not known.
[[nodiscard]] constexpr const ThreadData* thread_data(std::uint16_t machine) {
  return row_for(kThreadData, machine);
}

}  // namespace heapattach
