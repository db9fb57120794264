#pragma once

#include <bit>
#include <cstdint>

namespace heapattach {

// Targets are 64-bit programs in this machine's byte order, so a word of theirs is an integer of
// ours.
inline constexpr std::uint64_t kWordBytes = 8;
static_assert(std::endian::native == std::endian::little);

}  // namespace heapattach
