// The counts as tab- and comma-separated values, in Markdown, and in the exchange format of memory
// profilers for Crystal: the number of lines that follow, then one line per type,
// objects<TAB>type, or with sizes transitive bytes<TAB>type. Unreachable objects have no sizes.

#include <fmt/format.h>

#include "report/format/write/count_formats.h"

namespace heapattach {

namespace {

// "the collector and malloc"
std::string owners_of(const snapshot::CountTable& table) {
  if (table.heaps.empty()) return std::string(heap_kind().owner);
  std::string owners;
  for (const snapshot::HeapCount& heap : table.heaps) {
    owners.append(owners.empty() ? "" : " and ").append(heap.kind->owner);
  }
  return owners;
}

}  // namespace

std::string format_count_tsv(const snapshot::CountTable& table) {
  return tsv_of(count_grid(table));
}

std::string format_count_csv(const snapshot::CountTable& table) {
  return csv_of(count_grid(table));
}

std::string format_count_markdown(const snapshot::CountTable& table) {
  Grid grid = count_grid(table);
  grid.add_total({{"objects", table.objects}, {"bytes", table.bytes}}, "live");
  grid.add_total({{"bytes", table.in_use_bytes()}},
                 fmt::format("total in use by {}", owners_of(table)));
  return markdown_of(grid);
}

std::string format_count_memprof(const snapshot::CountTable& table) {
  std::string out = fmt::format("{}\n", table.rows.size());
  for (const snapshot::CountRow& row : table.rows) {
    const std::uint64_t number = row.sizes ? row.sizes->transitive_bytes : row.objects;
    out += fmt::format("{}\t{}\n", number, full_type(row));
  }
  return out;
}

}  // namespace heapattach
