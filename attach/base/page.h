#pragma once

#include <cstdint>

namespace heapattach {

inline constexpr std::uint64_t kWordBytes = 8;
inline constexpr std::uint64_t kPageBytes = 4096;

}  // namespace heapattach
