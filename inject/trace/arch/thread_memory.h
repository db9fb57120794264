#pragma once

#include <array>
#include <cstdint>

#include "attach/arch/processors.h"
#include "attach/arch/thread_data.h"

// Where the C libraries keep what they know about a thread.
namespace heapattach::trace {

// We read this much of a thread's structure. glibc's has 2,304 bytes, but all the fields that we
// need are in the first 2,048; musl's has 200.
inline constexpr std::uint64_t kThreadBytes = 2048;

// Whether the structure begins with its own address.
inline constexpr bool kPointsToItself = thread_data(kOwnProcessor)->self_at.has_value();
inline constexpr std::uint64_t kNumberInGlibc = thread_data(kOwnProcessor)->number_at;

#ifdef __x86_64__
// It begins at the thread pointer.
inline constexpr std::uint64_t kThreadBelow = 0;
// The offset of the thread's number in glibc, and in musl.
inline constexpr std::array<std::uint64_t, 2> kUsualOffsets = {kNumberInGlibc, 0x30};
#else
// The structure ends at the thread pointer, and is above the thread's stack. The collector knows a
// thread by the structure's address, whose distance from the thread pointer depends on the release.
inline constexpr std::uint64_t kThreadBelow = kThreadBytes;
// glibc 2.36 has 0x740 bytes.
inline constexpr std::array<std::uint64_t, 1> kUsualOffsets = {kThreadBelow - 0x740 +
                                                               kNumberInGlibc};
#endif

}  // namespace heapattach::trace
