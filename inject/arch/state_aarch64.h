#pragma once

#include <cstdint>

// Bits of a thread's saved processor state on aarch64 (the Arm Architecture Reference Manual,
// SPSR_EL1).
namespace heapattach {

inline constexpr std::uint64_t kConditionFlags = std::uint64_t{0xf} << 28U;
inline constexpr std::uint64_t kBranchType = std::uint64_t{3}
                                             << 10U;  // of an indirect jump just made

}  // namespace heapattach
