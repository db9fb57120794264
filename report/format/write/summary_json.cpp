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
// arenas. "malloc_heap" has the same of malloc's heap if it was read beside the collector's.

#include <string_view>

#include <fmt/format.h>

#include "report/format/write/json_record.h"
#include "report/format/write/summary_formats.h"

namespace heapattach {

namespace {

using snapshot::MemoryUse;

std::string_view name_of(MemoryUse use) {
  switch (use) {
    case MemoryUse::BlocksInUse: return "heap_in_use";
    case MemoryUse::FreeBlocks: return "heap_free";
    case MemoryUse::ThreadStacks: return "thread_stacks";
    case MemoryUse::FiberStacks: return "fiber_stacks";
    case MemoryUse::Malloc: return "malloc";
    case MemoryUse::Files: return "files";
    case MemoryUse::Other: break;
  }
  return "other";
}

void add_memory(const snapshot::MemoryAccount& memory, JsonRecord& record) {
  record.number("rss_bytes", memory.total.resident_bytes);
  record.number("mapped_bytes", memory.total.mapped_bytes);
  record.open_list("memory");
  for (std::size_t i = 0; i < snapshot::kMemoryUses; ++i) {
    const auto use = static_cast<MemoryUse>(i);
    JsonRecord item;
    item.text("use", name_of(use));
    item.number("resident_bytes", memory.of(use).resident_bytes);
    item.number("mapped_bytes", memory.of(use).mapped_bytes);
    if (use == MemoryUse::ThreadStacks) item.number("count", memory.thread_stacks);
    if (use == MemoryUse::FiberStacks) item.number("count", memory.fiber_stacks);
    record.item(std::move(item));
  }
  record.close_list();
  record.open_list("largest_outside");
  for (const snapshot::NamedMemory& one : memory.largest) {
    JsonRecord item;
    item.text("name", one.name);
    item.number("resident_bytes", one.share.resident_bytes);
    item.number("mapped_bytes", one.share.mapped_bytes);
    record.item(std::move(item));
  }
  record.close_list();
  if (memory.objects_of != nullptr) record.text("objects_of", memory.objects_of->name);
}

JsonRecord heap_record(const snapshot::HeapAccount& heap) {
  JsonRecord record;
  record.number("live_bytes", heap.live);
  record.number("unreachable_bytes", heap.unreachable);
  if (!heap.has_totals) return record;
  if (heap.fragmented_known) {
    if (!heap.kind->is_collected) record.number("leaked_bytes", heap.unreachable);
    record.number(heap.kind->rest_key, heap.fragmented);
  }
  for (const heap::Fact& fact : heap.facts) record.number(fact.key, fact.number);
  record.number("free_bytes", heap.free);
  record.number("unmapped_bytes", heap.unmapped);
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
