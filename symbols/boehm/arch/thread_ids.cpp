#include "symbols/boehm/arch/thread_ids.h"

#include <elf.h>

namespace heapattach::boehm {

// On x86-64, a pthread_t is the thread pointer. On aarch64, the pthread_t is the address of glibc's
// struct pthread, which ends at the thread pointer. It has the thread's number after a header of
// 192 bytes and two links.
std::uint64_t id_below_pointer(std::uint16_t machine,
                               const Capture& capture,
                               std::span<const FrozenThread> threads) {
  constexpr std::uint64_t kNumberAt = 192 + 16;
  constexpr std::uint64_t kLongest = 4096;
  if (machine != EM_AARCH64) return 0;
  for (const FrozenThread& thread : threads) {
    if (!thread.registers) continue;
    for (std::uint64_t bytes = kNumberAt + 16; bytes <= kLongest; bytes += 16) {
      const RemoteAddr at = thread.registers->thread_pointer - bytes + kNumberAt;
      const auto number = capture.read_as<std::int32_t>(at);
      if (number && *number == thread.tid) return bytes;
    }
  }
  return 0;
}

}  // namespace heapattach::boehm
