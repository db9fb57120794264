#pragma once

#include <cstdint>
#include <optional>

#include <elf.h>

namespace heapattach {

// On x86-64, glibc's data about a thread begin with their own address, which is here once more.
inline constexpr std::uint64_t kThreadSelfAt = 16;

// What the C library keeps at a thread pointer, as offsets from it.
struct ThreadData {
  // Where the address of the C library's data is. None: these data end at the thread pointer.
  std::optional<std::uint64_t> self_at;
  std::uint64_t vector_at = 0;  // of the vector with an entry for each module (dtv)
  // Thread-local variables are below this, if there are not unusually many.
  std::uint64_t variables_end = 0;
};
// The offsets for a processor (e_machine).
[[nodiscard]] constexpr ThreadData thread_data(std::uint16_t machine) {
  if (machine == EM_AARCH64) return {.self_at = {}, .vector_at = 0, .variables_end = 0x4000};
  return {.self_at = kThreadSelfAt, .vector_at = 8, .variables_end = 0};
}

}  // namespace heapattach
