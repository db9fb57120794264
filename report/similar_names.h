#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace heapattach {

// How many letters must be changed, inserted, left out or swapped with the next to make one the
// other.
[[nodiscard]] std::size_t letters_between(std::string_view a, std::string_view b);

// The name most like a mistyped word; empty if none is like it.
[[nodiscard]] std::string_view most_similar(std::string_view word,
                                            std::span<const std::string_view> names);

}  // namespace heapattach
