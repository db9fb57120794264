#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace heapattach {

// Formats a name in a cell of a Markdown table as code, so that `Pointer(T)*` and `__init__` do not
// become emphasis. A bar ends a cell even inside a code span, so it is written \| (Crystal unions
// contain many bars). If a name contains a backtick, the span is delimited by two.
inline std::string code_span(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '|') escaped += '\\';
    escaped += letter;
  }
  // Two backticks in a row would still end the span early. That is harmless and has never been
  // seen.
  if (text.find('`') != std::string_view::npos) return fmt::format("`` {} ``", escaped);
  return fmt::format("`{}`", escaped);
}

}  // namespace heapattach
