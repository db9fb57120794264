// Comma-separated values as in RFC 4180: a header line, CRLF after each line, and every type in
// quotes with quotes inside doubled, because names such as Hash(String, Int32) contain commas.
// Control characters are written as \t, \n, \x1b: a quoted line break would be allowed by the
// standard, but not understood by the line-based tools that read most CSV files.

#include <fmt/format.h>

#include "report/format/write/count_formats.h"
#include "report/text/spreadsheet_text.h"

namespace heapattach {

std::string format_count_csv(const snapshot::CountTable& table) {
  std::string out = table.has_sizes ? "objects,bytes,transitive_bytes,retained_bytes,type\r\n"
                                    : "objects,bytes,type\r\n";
  for (const snapshot::CountRow& row : table.rows) {
    out += fmt::format("{},{},", row.objects, row.bytes);
    if (table.has_sizes) out += sizes_text(row, ",") + ",";
    out += '"';
    for (const char letter : spreadsheet_text(shown_type(row))) {
      if (letter == '"') out += '"';
      out += letter;
    }
    out += "\"\r\n";
  }
  return out;
}

}  // namespace heapattach
