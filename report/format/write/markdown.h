#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace heapattach {

// A name in a cell of a Markdown table: as code, so that `Pointer(T)*` and `__init__` do not become
// emphasis. A bar ends a cell even inside a code span, and is written \| (Crystal's unions are full
// of bars). If a name contains a backtick, the span's own marks have two.
inline std::string code_span(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '|') escaped += '\\';
    escaped += letter;
  }
  // A name with two backticks in a row would still end the span early: harmless, and never seen.
  if (text.find('`') != std::string_view::npos) return fmt::format("`` {} ``", escaped);
  return fmt::format("`{}`", escaped);
}

}  // namespace heapattach
