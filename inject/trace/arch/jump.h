#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heapattach::trace {

// A jump instruction from `from` to `to`, which must be within reach.
inline constexpr std::size_t kJumpBytes = 5;
[[nodiscard]] std::vector<std::byte> jump(std::uint64_t from, std::uint64_t to);
[[nodiscard]] bool can_jump(std::uint64_t from, std::uint64_t to);

// The first byte of a call, and the only one of a return.
inline constexpr std::byte kCall{0xe8};
inline constexpr std::byte kReturn{0xc3};

// Code that is within this distance of another can refer to all of what is around that code.
inline constexpr std::uint64_t kReach = 0x7ff00000;

}  // namespace heapattach::trace
