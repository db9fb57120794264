#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace heapattach {

// The edit distance: the number of letters to change, insert, remove or swap with the next to turn
// one name into the other.
[[nodiscard]] std::size_t letters_between(std::string_view a, std::string_view b);

// The name most similar to a mistyped word; empty if none is similar enough.
[[nodiscard]] std::string_view most_similar(std::string_view word,
                                            std::span<const std::string_view> names);

}  // namespace heapattach
