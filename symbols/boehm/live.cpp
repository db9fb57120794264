#include "symbols/boehm/live.h"

#include <algorithm>
#include <utility>

namespace heapattach::boehm {
namespace {

// Registers count like words of a stack, and the stack pointer like none. Those of threads whose
// stacks the collector does not scan are none.
std::vector<FrozenThread> scanned_threads(std::vector<FrozenThread> threads,
                                          std::span<const RootRange> before,
                                          std::span<const RootRange> after) {
  const auto has_stack = [](std::span<const RootRange> ranges, pid_t tid) {
    return std::any_of(ranges.begin(), ranges.end(), [&](const RootRange& range) {
      return range.kind == RootKind::Stack && range.thread == tid;
    });
  };
  std::erase_if(threads, [&](const FrozenThread& thread) {
    return !thread.registers || (has_stack(before, thread.tid) && !has_stack(after, thread.tid));
  });
  return threads;
}

// The words of the heap that lead to free lists, sorted.
std::vector<Range> list_heads(const Heap& heap, std::span<const ThreadRecord> records) {
  std::vector<Range> heads;
  for (const ThreadRecord& record : records) {
    for (const Range& head : record.list_heads) {
      if (heap.block_of(head.start.value) != Heap::kNone) heads.push_back(head);
    }
  }
  std::sort(heads.begin(), heads.end());
  return heads;
}

// What the kinds' table points to: their heads of free lists, which the collector marks but does
// not scan (mark_rts.c, GC_push_roots).
std::vector<ObjectRef> free_list_heads(const Heap& heap,
                                       const Capture& capture,
                                       const std::optional<Range>& kinds) {
  std::vector<ObjectRef> heads;
  if (!kinds) return heads;
  for (std::uint64_t offset = 0; offset + 8 <= kinds->bytes; offset += 8) {
    const auto word = capture.read_as<std::uint64_t>(kinds->start + offset);
    const auto ref = word ? heap.object_at(*word) : std::nullopt;
    if (ref && heap.blocks()[ref->block].is_atomic()) heads.push_back(*ref);
  }
  return heads;
}

}  // namespace

LiveSet find_live(
    Heap& heap, const Capture& capture, Roots roots, const MemoryMap& map, unsigned workers) {
  auto records = find_thread_records(heap, capture, roots.collector_data, roots.threads, map);
  auto free = find_free_objects(heap, capture, roots.collector_data, records);
  auto ranges = trim_stacks(roots.ranges, records, roots.stack_bottom, roots.pid);
  auto threads = scanned_threads(std::move(roots.threads), roots.ranges, ranges);
  auto uncollectable = uncollectable_objects(heap, free);
  auto kept = find_collector_objects(heap, capture, roots.collector_data);
  for (const ObjectRef head : free_list_heads(heap, capture, roots.kinds)) {
    kept.tables.push_back(head);
  }
  heap.hide(list_heads(heap, records));

  std::vector<RootWords> words = root_words(ranges, capture);
  for (const FrozenThread& thread : threads) {
    words.push_back({std::as_bytes(std::span(thread.registers->general)), Heap::From::Stack});
  }
  Tracer tracer(heap, free, workers);
  tracer.trace(words, uncollectable);
  tracer.trace({}, kept.tables);
  std::erase_if(kept.finalizable, [&](ObjectRef ref) { return tracer.is_live(ref); });
  tracer.trace({}, kept.finalizable);
  return {std::move(tracer).take_live(),
          std::move(free),
          std::move(ranges),
          std::move(records),
          std::move(threads),
          std::move(uncollectable),
          std::move(kept.tables),
          std::move(kept.finalizable)};
}

}  // namespace heapattach::boehm
