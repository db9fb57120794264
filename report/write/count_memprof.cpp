// The format that memory profilers for Crystal exchange: the number of lines that follow, then one
// line per type, objects<TAB>type. No bytes, no totals.

#include <fmt/format.h>

#include "report/write/count_formats.h"

namespace heapattach {

std::string format_count_memprof(const snapshot::CountTable& table) {
  std::string out = fmt::format("{}\n", table.rows.size());
  for (const snapshot::CountRow& row : table.rows) {
    out += fmt::format("{}\t{}\n", row.objects, shown_type(row));
  }
  return out;
}

}  // namespace heapattach
