#pragma once

#include <string_view>

namespace heapattach {

// Whether all of `text` matches `pattern`. `*` matches any characters, including none and "::",
// spaces and parentheses; `?` for one byte; all else for itself, since brackets and parentheses are
// part of type names. Linear in pattern times text, never exponential.
[[nodiscard]] bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace heapattach
