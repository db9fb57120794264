#pragma once

#include <string_view>

namespace heapattach {

// Whether all of `text` matches `pattern`. `*` matches any characters, including none, "::", spaces
// and parentheses; `?` matches one byte; everything else matches itself, since brackets and
// parentheses are part of type names. Takes time proportional to pattern times text, never
// exponential.
[[nodiscard]] bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace heapattach
