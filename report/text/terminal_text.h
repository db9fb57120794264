#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heapattach {

// Makes any `text` safe to show on one line: characters that could control a terminal or reorder
// text become \n, \t, \x1b or \u{202e}, an invalid UTF-8 byte becomes \xff, and a backslash becomes
// \\. Text longer than kMaxNameBytes is cut with an ellipsis.
[[nodiscard]] std::string terminal_text(std::string_view text);

// Converts `text` to ASCII: "->" for an arrow, "..." for an ellipsis, \u{e9} for other characters.
// Leaves ASCII unchanged, including control characters.
[[nodiscard]] std::string ascii_text(std::string_view text);

// As much of `text`, which is safe to show, as fits into that many terminal columns, with an
// ellipsis if it was cut.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t columns);

}  // namespace heapattach
