#pragma once

#include <cstdint>

namespace heapattach {

// Functions that call no others may use this much memory below their stack pointer (System V ABI
// for x86-64).
inline constexpr std::uint64_t kRedZoneBytes = 128;

}  // namespace heapattach
