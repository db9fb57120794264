// One JSON object on one line, version 1:
//
//   {"version":1,"report":"summary","pid":4711,"exe":"/srv/app","captured":"…",
//    "rss_bytes":N,"mapped_bytes":N,"memory":[{"use":"heap_in_use","resident_bytes":N,
//    "mapped_bytes":N},{"use":"fiber_stacks","resident_bytes":N,"mapped_bytes":N,"count":12},…],
//    "largest_outside":[{"name":"/srv/data","resident_bytes":N,"mapped_bytes":N},…],
//    "heap":{"live_bytes":N,"unreachable_bytes":N,"fragmented_bytes":N,"free_bytes":N,
//    "unmapped_bytes":N,"heap_bytes":N}}
//
// The resident bytes of all uses add up to rss_bytes; the parts of the heap to heap_bytes. Uses:
// heap_in_use, heap_free, thread_stacks, fiber_stacks, malloc, files, other. `largest_outside` has
// the five largest files, stacks and anonymous mappings outside the heaps; "objects_of":"CPython"
// says that a runtime keeps its objects there. Without a heap, "complete" is false, and "reason"
// says why. Of Ruby's heap only live_bytes and unreachable_bytes are known. A saved snapshot has
// no memory, and a collector's fragmented_bytes are in its unreachable_bytes.
//
// malloc's heap has "overhead_bytes", its headers and tables, instead of fragmented_bytes in this
// sum. Its unreachable_bytes are also "leaked_bytes". Its free_bytes consist of "bin_bytes",
// "fast_bin_bytes", "cache_bytes" and "top_bytes"; "fragmented_bytes" are those between
// allocations, the same as bin_bytes, and "free_page_bytes" whole pages of these, which
// malloc_trim(0) can return. "arenas", "mapped_allocations" and "mapped_allocation_bytes" are
// added. The free_bytes of musl's malloc are "free_slot_bytes", and it has "groups" instead of
// arenas; those of its older malloc are "bin_bytes", and it has "segments". "malloc_heap" has the
// same of malloc's heap if it was read beside the collector's.

#include <fmt/format.h>

#include "report/format/write/summary_columns.h"
#include "report/format/write/summary_formats.h"

namespace heapattach {

namespace {

void add_memory(const snapshot::MemoryAccount& memory, JsonRecord& record) {
  record.number("rss_bytes", memory.total.resident_bytes);
  record.number("mapped_bytes", memory.total.mapped_bytes);
  add_rows("memory", memory_grid(memory, memory_uses()), record);
  add_rows("largest_outside", named_memory_grid(memory.largest, {}), record);
  if (memory.objects_of != nullptr) record.text("objects_of", memory.objects_of->name);
}

JsonRecord heap_record(const snapshot::HeapAccount& heap) {
  JsonRecord record;
  for (const HeapPart& part : parts_of(heap)) {
    if (!part.key.empty()) record.number(part.key, part.bytes);
  }
  if (!heap.has_totals) return record;
  record.number("heap_bytes", heap.heap);
  return record;
}

}  // namespace

std::string format_summary_json(const SummaryReport& report) {
  JsonRecord record;
  record.number("version", 1);
  record.text("report", "summary");
  record.number("pid", report.pid);
  record.text_unless_empty("exe", report.exe);
  record.attributes_unless_empty("resource", report.resource);
  record.text_unless_empty("captured", report.captured);
  if (report.summary.memory) add_memory(*report.summary.memory, record);
  const auto& heaps = report.summary.heaps;
  for (const auto& heap : heaps) {
    if (!heap) continue;
    const bool is_first = &heap == &heaps.front();
    record.object(is_first ? "heap" : fmt::format("{}_heap", heap->kind->key), heap_record(*heap));
  }
  if (!report.complete) {
    record.boolean("complete", false);
    record.text("reason", report.reason);
  }
  return std::move(record).line();
}

}  // namespace heapattach
