#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "inject/trace/arch/layout.h"

namespace heapattach::trace {

// The machine code of the blob as it was built, with a BlobHead that is not filled in.
[[nodiscard]] std::span<const std::byte> blob_code();
[[nodiscard]] BlobHead blob_head();

// The blob turns itself off if nothing has read the ring for so long.
inline constexpr std::chrono::seconds kReaderPatience{20};

// The contents of the control pages of a new blob, which is off.
[[nodiscard]] std::vector<std::byte> new_control(std::uint64_t every,
                                                 std::uint64_t stack_most,
                                                 std::uint64_t seed);

}  // namespace heapattach::trace
