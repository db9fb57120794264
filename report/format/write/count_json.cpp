// One JSON object on one line, version 1:
//
//   {"version":1,"pid":4711,"objects":N,"bytes":N,"heap_bytes":N,"free_bytes":N,
//    "unreachable_bytes":N,"typed_bytes":N,"types":[{"type":"Session","objects":1000,"bytes":48000}]}
//
// `objects` and `bytes` are the live ones of the whole heap, whatever --top left out of `types`.
// With sizes, a row has "transitive_bytes" and "retained_bytes" too. Empty keys are left out:
// heap_bytes and free_bytes if the collector's numbers are unknown, "reachable":false on a type's
// row unless its objects are unreachable, "lossy":true unless a name had to be changed, and
// "complete":false with its "reason" unless part is missing. If the heaps of a collector and of
// malloc were read together, the numbers are those of both, and "heaps" has those of each:
// {"heap":"gc","objects":N,"bytes":N,"heap_bytes":N,"free_bytes":N,"unreachable_bytes":N}, then
// the same with "heap":"malloc".

#include <iterator>

#include <fmt/format.h>

#include "report/format/write/count_formats.h"
#include "report/text/json_text.h"

namespace heapattach {

namespace {

void append_row(std::string& out, const snapshot::CountRow& row) {
  out += "{\"type\":";
  const bool is_lossy = append_json_string(out, row.type);
  fmt::format_to(std::back_inserter(out), ",\"objects\":{},\"bytes\":{}", row.objects, row.bytes);
  if (row.sizes) {
    fmt::format_to(std::back_inserter(out), ",\"transitive_bytes\":{},\"retained_bytes\":{}",
                   row.sizes->transitive_bytes, row.sizes->retained_bytes);
  }
  if (!row.is_reachable) out += ",\"reachable\":false";
  if (is_lossy) out += ",\"lossy\":true";
  out += '}';
}

void append_heap(std::string& out, const snapshot::HeapCount& heap) {
  fmt::format_to(std::back_inserter(out), "{{\"heap\":\"{}\",\"objects\":{},\"bytes\":{}",
                 heap.is_malloc ? "malloc" : "gc", heap.objects, heap.bytes);
  const auto append = [&out](const char* key, std::uint64_t value) {
    fmt::format_to(std::back_inserter(out), ",\"{}\":{}", key, value);
  };
  if (heap.heap_bytes) append("heap_bytes", *heap.heap_bytes);
  if (heap.free_bytes) append("free_bytes", *heap.free_bytes);
  append("unreachable_bytes", heap.unreachable_bytes);
  out += '}';
}

}  // namespace

std::string format_count_json(const snapshot::CountTable& table) {
  std::string out = fmt::format("{{\"version\":1,\"pid\":{},\"objects\":{},\"bytes\":{}", table.pid,
                                table.objects, table.bytes);
  const auto append = [&out](const char* key, std::uint64_t value) {
    fmt::format_to(std::back_inserter(out), ",\"{}\":{}", key, value);
  };
  if (table.heap_bytes) append("heap_bytes", *table.heap_bytes);
  if (table.free_bytes) append("free_bytes", *table.free_bytes);
  append("unreachable_bytes", table.unreachable_bytes);
  append("typed_bytes", table.typed_bytes);
  if (!table.complete) {
    out += ",\"complete\":false,\"reason\":";
    append_json_string(out, table.reason);
  }
  if (!table.heaps.empty()) {
    out += ",\"heaps\":[";
    for (const snapshot::HeapCount& heap : table.heaps) {
      if (&heap != &table.heaps.front()) out += ',';
      append_heap(out, heap);
    }
    out += ']';
  }
  out += ",\"types\":[";
  for (const snapshot::CountRow& row : table.rows) {
    if (&row != &table.rows.front()) out += ',';
    append_row(out, row);
  }
  out += "]}\n";
  return out;
}

}  // namespace heapattach
