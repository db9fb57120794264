// Tab-separated values, with a header line: objects, bytes, type. The type stands last and holds no
// tab and no line break: control characters are written as \t, \n, \x1b, a backslash as \\, so that
// a line is always one row and `cut -f3-` always the whole name. No totals: they would be rows.

#include <fmt/format.h>

#include "report/write/count_formats.h"

namespace heapattach {

std::string format_count_tsv(const snapshot::CountTable& table) {
  std::string out = "objects\tbytes\ttype\n";
  for (const snapshot::CountRow& row : table.rows) {
    out += fmt::format("{}\t{}\t{}\n", row.objects, row.bytes, shown_type(row));
  }
  return out;
}

}  // namespace heapattach
