// One JSON object on one line, version 1:
//
//   {"version":1,"pid":4711,"objects":N,"bytes":N,"heap_bytes":N,"free_bytes":N,
//    "unreachable_bytes":N,"typed_bytes":N,"types":[{"type":"Session","objects":1000,"bytes":48000}]}
//
// `objects` and `bytes` are the live ones of the whole heap, whatever --top left out of `types`.
// With sizes, a row has "transitive_bytes" and "retained_bytes" too. Empty keys are left out:
// heap_bytes and free_bytes if the collector's numbers are unknown, "reachable":false on a type's
// row unless its objects are unreachable, "guess" unless its type is a size and only one struct of
// the program fits its objects, "short" unless people write the name differently,
// "lossy":true unless a name had to be changed, and "complete":false with its "reason" unless part
// is missing. The unreachable_bytes of malloc's heap are "leaked_bytes" and "overhead_bytes", its
// headers and tables. If the heaps of a collector and of malloc were read together, the numbers are
// their sums, and "heaps" has those of each:
// {"heap":"gc","objects":N,"bytes":N,"heap_bytes":N,"free_bytes":N,"unreachable_bytes":N}, then
// the same with "heap":"malloc".

#include "report/format/write/count_formats.h"
#include "report/format/write/json_record.h"

namespace heapattach {

namespace {

JsonRecord heap_record(const snapshot::HeapCount& heap) {
  JsonRecord record;
  record.text("heap", heap.kind->key);
  record.number("objects", heap.objects);
  record.number("bytes", heap.bytes);
  record.number("heap_bytes", heap.heap_bytes);
  record.number("free_bytes", heap.free_bytes);
  record.number("unreachable_bytes", heap.unreachable_bytes);
  record.number("leaked_bytes", heap.leaked_bytes);
  record.number("overhead_bytes", heap.overhead_bytes());
  return record;
}

}  // namespace

std::string format_count_json(const snapshot::CountTable& table) {
  JsonRecord record;
  record.number("version", 1);
  record.number("pid", table.pid);
  record.attributes_unless_empty("resource", table.resource);
  record.number("objects", table.objects);
  record.number("bytes", table.bytes);
  record.number("heap_bytes", table.heap_bytes);
  record.number("free_bytes", table.free_bytes);
  record.number("unreachable_bytes", table.unreachable_bytes);
  record.number("leaked_bytes", table.leaked_bytes);
  record.number("overhead_bytes", table.overhead_bytes);
  record.number("typed_bytes", table.typed_bytes);
  if (!table.complete) {
    record.boolean("complete", false);
    record.text("reason", table.reason);
  }
  if (table.heaps.size() > 1) {
    record.open_list("heaps");
    for (const snapshot::HeapCount& heap : table.heaps) record.item(heap_record(heap));
    record.close_list();
  }
  add_rows("types", count_grid(table), record);
  return std::move(record).line();
}

}  // namespace heapattach
