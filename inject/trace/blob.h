#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "inject/trace/layout.h"

namespace heapattach::trace {

// The machine code of the blob, as built; its BlobHead is not filled in.
[[nodiscard]] std::span<const std::byte> blob_code();
[[nodiscard]] BlobHead blob_head();

// How long nothing may read the ring before the blob turns itself off.
inline constexpr std::chrono::seconds kReaderPatience{20};

// What the control pages of a new blob hold. It is off.
[[nodiscard]] std::vector<std::byte> new_control(std::uint64_t every,
                                                 std::uint64_t stack_most,
                                                 std::uint64_t seed);

// A jump instruction from `from` to `to`, which must be within reach.
inline constexpr std::size_t kJumpBytes = 5;
[[nodiscard]] std::vector<std::byte> jump(std::uint64_t from, std::uint64_t to);
[[nodiscard]] bool can_jump(std::uint64_t from, std::uint64_t to);

}  // namespace heapattach::trace
