#pragma once

namespace heapattach {

// Has the processor fetch what is at an address while it does other things. GCC 12 takes a function
// that does nothing but prefetch for one without an effect, and leaves out calls of it; the empty
// assembly is an effect.
inline void prefetch(const void* address) {
  __builtin_prefetch(address);
  asm volatile("");  // NOLINT(hicpp-no-assembler)
}

}  // namespace heapattach
