#pragma once

#include <array>
#include <cstdint>

// Where the C libraries keep what they know about a thread.
namespace heapattach::trace {

// The structure of a thread has at most this many bytes: glibc's has 2,304, but what is looked for
// is in the first 2,048; musl's has 200.
inline constexpr std::uint64_t kThreadBytes = 2048;

#ifdef __x86_64__
// It begins at the thread pointer, and points to itself in glibc.
inline constexpr std::uint64_t kThreadBelow = 0;
inline constexpr bool kPointsToItself = true;
// The offset of the thread's number in glibc since 2.10, and in musl.
inline constexpr std::array<std::uint64_t, 2> kUsualOffsets = {0x2d0, 0x30};
#else
// It ends at the thread pointer, and is above the thread's stack. The collector knows a thread by
// the structure's address, whose distance depends on the release.
inline constexpr std::uint64_t kThreadBelow = kThreadBytes;
inline constexpr bool kPointsToItself = false;
// glibc 2.36 has 0x740 bytes, with the number at 0xd0.
inline constexpr std::array<std::uint64_t, 1> kUsualOffsets = {kThreadBelow - 0x740 + 0xd0};
#endif

}  // namespace heapattach::trace
