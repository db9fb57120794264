#pragma once

#include <cstdint>

// Limits of the addresses that programs use, on any processor.
namespace heapattach {

// x86-64 with five levels of page tables has the largest user half. Above it the kernel maps only
// vsyscall, which is not memory of the process.
inline constexpr std::uint64_t kAddressEnd = std::uint64_t{1} << 56;

// A program gets higher addresses only if it asks the kernel for them. On x86-64 the limit is half
// of this.
inline constexpr std::uint64_t kUsualAddressEnd = std::uint64_t{1} << 48;

}  // namespace heapattach
