// The exchange format of memory profilers for Crystal: the number of lines that follow, then one
// line per type, objects<TAB>type, or with sizes transitive bytes<TAB>type. No totals.

#include <fmt/format.h>

#include "report/format/write/count_formats.h"

namespace heapattach {

std::string format_count_memprof(const snapshot::CountTable& table) {
  std::string out = fmt::format("{}\n", table.rows.size());
  for (const snapshot::CountRow& row : table.rows) {
    const std::uint64_t number = row.sizes ? row.sizes->transitive_bytes : row.objects;
    out += fmt::format("{}\t{}\n", number, shown_type(row));
  }
  return out;
}

}  // namespace heapattach
