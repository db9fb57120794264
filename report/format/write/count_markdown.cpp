// A Markdown table as GitHub and GitLab render it, for issues and merge requests. Types are in code
// spans, so that `Pointer(T)*` and `__init__` do not become emphasis. A bar ends a cell even inside
// a code span, and is written \| (Crystal's unions are full of bars). If a name contains a
// backtick, the span's own marks have two.

#include <fmt/format.h>

#include "report/format/write/count_formats.h"

namespace heapattach {

namespace {

std::string code_span(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '|') escaped += '\\';
    escaped += letter;
  }
  // A name with two backticks in a row would still end the span early: harmless, and never seen.
  if (text.find('`') != std::string_view::npos) return fmt::format("`` {} ``", escaped);
  return fmt::format("`{}`", escaped);
}

}  // namespace

std::string format_count_markdown(const snapshot::CountTable& table) {
  const std::string gap = table.has_sizes ? " | |" : "";
  std::string out = table.has_sizes ? "| objects | bytes | transitive | retained | type |\n"
                                      "| ---: | ---: | ---: | ---: | :--- |\n"
                                    : "| objects | bytes | type |\n| ---: | ---: | :--- |\n";
  for (const snapshot::CountRow& row : table.rows) {
    out += fmt::format("| {} | {} | ", row.objects, row.bytes);
    if (table.has_sizes) out += sizes_text(row, " | ") + " | ";
    out += code_span(shown_type(row)) + " |\n";
  }
  out += fmt::format("| {} | {} |{} live |\n| | {} |{} total in use by the collector |\n",
                     table.objects, table.bytes, gap, table.in_use_bytes(), gap);
  return out;
}

}  // namespace heapattach
