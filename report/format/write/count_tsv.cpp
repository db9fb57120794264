// Tab-separated values, with a header line: objects, bytes, type; with sizes, transitive_bytes and
// retained_bytes before the type, empty for unreachable objects. The type comes last and contains
// no tab and no line break: control characters are written as \t, \n, \x1b, a backslash as \\. So a
// line is always one row, and `cut -f3-` always the whole name. No totals: they would be rows.

#include <fmt/format.h>

#include "report/format/write/count_formats.h"
#include "report/text/spreadsheet_text.h"

namespace heapattach {

std::string format_count_tsv(const snapshot::CountTable& table) {
  std::string out = table.has_sizes ? "objects\tbytes\ttransitive_bytes\tretained_bytes\ttype\n"
                                    : "objects\tbytes\ttype\n";
  for (const snapshot::CountRow& row : table.rows) {
    out += fmt::format("{}\t{}\t", row.objects, row.bytes);
    if (table.has_sizes) out += sizes_text(row, "\t") + "\t";
    out += spreadsheet_text(shown_type(row)) + "\n";
  }
  return out;
}

}  // namespace heapattach
