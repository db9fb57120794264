#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heapattach {

// `text`, which may be anything, on one line and safe to show: what could steer a terminal or
// reorder text becomes \n, \t, \x1b or \u{202e}, a byte that is not UTF-8 \xff, a backslash \\, and
// what is longer than kMaxNameBytes ends in an ellipsis.
[[nodiscard]] std::string terminal_text(std::string_view text);

// `text` for where nothing but ASCII can be shown: "->" for an arrow, "..." for an ellipsis, \u{e9}
// for what has no such spelling. ASCII stays as it is, control characters too.
[[nodiscard]] std::string ascii_text(std::string_view text);

// As much of `text`, which is safe to show, as fits into that many columns of a terminal, with an
// ellipsis if that is not all of it.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t columns);

}  // namespace heapattach
