#pragma once

#include <cstdint>

// Sizes fixed by the architecture.
namespace heapattach {

inline constexpr std::uint64_t kWordBytes = 8;
inline constexpr std::uint64_t kPageBytes = 4096;
inline constexpr std::uint64_t kSyscallBytes = 2;  // of the instruction

}  // namespace heapattach
