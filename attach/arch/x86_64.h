#pragma once

#include <cstdint>

// What is true of x86-64 only.
namespace heapattach {

inline constexpr std::uint64_t kSyscallBytes = 2;  // of the instruction

}  // namespace heapattach
