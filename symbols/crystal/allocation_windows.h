#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "symbols/crystal/machine_code.h"

namespace heapattach::crystal {

// Ids are dense; a larger number is the first word of something else ("\x7fELF").
inline constexpr std::uint32_t kLargestId = 1U << 20U;

// The number of bytes after a call in which the id is stored. It leaves room for the stores of
// fields' initial values.
inline constexpr std::size_t kWindow = 160;

// The position where the size for the call at `at` is set, in either of the two forms that the
// compiler uses.
std::size_t begin_of_size(const Code& code, std::size_t at);

// Whether the code may store an id. Most functions that allocate do not, and decoding them would
// take most of the time.
bool stores_constant(std::span<const std::byte> body);

}  // namespace heapattach::crystal
