#pragma once

#include <cstdint>

// Bits of a thread's saved processor state on aarch64 (the Arm Architecture Reference Manual,
// SPSR_EL1).
namespace heapattach {

inline constexpr std::uint64_t kConditionFlags = std::uint64_t{0xf} << 28U;
// The type of the indirect jump that the thread has just made.
inline constexpr std::uint64_t kBranchType = std::uint64_t{3} << 10U;

}  // namespace heapattach
