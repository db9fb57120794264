#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heapattach {

// Any `text`, on one line and safe to show: characters that could control a terminal or reorder
// text become \n, \t, \x1b or \u{202e}, a byte that is not UTF-8 \xff, a backslash \\. Text longer
// than kMaxNameBytes ends in an ellipsis.
[[nodiscard]] std::string terminal_text(std::string_view text);

// `text` for output in ASCII only: "->" for an arrow, "..." for an ellipsis, \u{e9} for other
// characters. ASCII is unchanged, including control characters.
[[nodiscard]] std::string ascii_text(std::string_view text);

// As much of `text`, which is safe to show, as fits into that many terminal columns, with an
// ellipsis if it was cut.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t columns);

}  // namespace heapattach
