#pragma once

#include <string>
#include <string_view>

namespace heapattach {

// `text`, which may be anything, on one line and safe to show: what could steer a terminal or
// reorder text becomes \n, \t, \x1b or \u{202e}, a byte that is not UTF-8 \xff, a backslash \\, and
// what is longer than kMaxNameBytes ends in an ellipsis.
[[nodiscard]] std::string terminal_text(std::string_view text);

}  // namespace heapattach
