// A Markdown table as GitHub and GitLab render it, for issues and merge requests.

#include <fmt/format.h>

#include "report/format/write/count_formats.h"
#include "report/format/write/markdown.h"

namespace heapattach {

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
  out += fmt::format("| {} | {} |{} live |\n| | {} |{} total in use by {} |\n", table.objects,
                     table.bytes, gap, table.in_use_bytes(), gap,
                     !table.heaps.empty() ? "the collector and malloc"
                     : table.is_malloc    ? "malloc"
                                          : "the collector");
  return out;
}

}  // namespace heapattach
