#pragma once

#include <cstddef>

namespace heapattach {

// Large pieces of memory that are used again instead of being returned to the kernel. The kernel
// clears every page that it hands out, and for a copied heap and the arrays made from it that takes
// a third of the whole run. Whole huge pages move to the next owner's addresses (mremap(2)), so the
// memory of one array can become parts of several others, and nothing is fragmented.
//
// The contents of such memory are arbitrary: its owner writes it before reading it. All functions
// may be called by several threads.

inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

// Memory of this many bytes, aligned to a huge page; null if there is none.
[[nodiscard]] void* take_memory(std::size_t bytes);

// Reserves address space for `bytes`, of which the first `used` will be written. Only spare memory
// backs it.
[[nodiscard]] void* take_addresses(std::size_t bytes, std::size_t used);

// Returns what one of the two above returned. Keeps the first `used` bytes for the next owner.
void give_memory(void* memory, std::size_t bytes, std::size_t used);

// Returns everything that is spare to the kernel: for processes that are about to wait.
void drop_spare_memory();

// How many bytes are spare.
[[nodiscard]] std::size_t spare_bytes();

}  // namespace heapattach
