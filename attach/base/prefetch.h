#pragma once

namespace heapattach {

// Prefetches the memory at an address. GCC 12 assumes that a function that only prefetches has no
// effect and drops calls to it; the empty assembly is an effect.
inline void prefetch(const void* address) {
  __builtin_prefetch(address);
  asm volatile("");  // NOLINT(hicpp-no-assembler)
}

}  // namespace heapattach
