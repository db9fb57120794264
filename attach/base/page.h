#pragma once

#include <cstdint>

#include <unistd.h>

namespace heapattach {

// The kernel maps and protects memory in pages. Their size depends on the processor, and on some
// processors on the kernel.

// Every page size is a multiple of this. Code that steps over unreadable memory can use it as its
// step whatever the page size is.
inline constexpr std::uint64_t kLeastPageBytes = 4096;

// The page size of this machine, which is that of every live target. MemoryMap::page_bytes() is
// also right for a core file.
[[nodiscard]] inline std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace heapattach
