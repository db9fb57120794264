#include "symbols/boehm/live.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "attach/arch/register_names.h"
#include "symbols/boehm/kinds.h"
#include "symbols/heap/live_set.h"

namespace heapattach::boehm {
namespace {

// Threads that the collector knows, and the first one, have stacks.
std::vector<std::string> threads_without_stack(std::span<const FrozenThread> threads,
                                               std::span<const ThreadRecord> records,
                                               std::span<const heap::RootRange> ranges,
                                               pid_t pid) {
  std::vector<std::string> problems;
  for (const FrozenThread& thread : threads) {
    const auto is_its = [&](const auto& part) { return part.thread == thread.tid; };
    const bool must_have = thread.tid == pid || std::any_of(records.begin(), records.end(), is_its);
    const bool is_running = thread.state != 'Z' && thread.state != 'X';
    if (!must_have || !is_running || std::any_of(ranges.begin(), ranges.end(), is_its)) continue;
    problems.push_back(fmt::format("the stack of thread {} was not found", thread.tid));
  }
  return problems;
}

// The words of the heap that point to free lists, sorted.
std::vector<Range> list_heads(const heap::Heap& heap, std::span<const ThreadRecord> records) {
  std::vector<Range> heads;
  for (const ThreadRecord& record : records) {
    for (const Range& head : record.list_heads) {
      if (heap.block_of(head.start.value) != heap::Heap::kNone) heads.push_back(head);
    }
  }
  std::sort(heads.begin(), heads.end());
  return heads;
}

// The arrays of free lists of the program's own kinds, which the collector marks but does not scan
// (mark_rts.c, GC_push_roots).
std::vector<heap::ObjectRef> free_list_arrays(const heap::Heap& heap,
                                              std::span<const ObjectKind> kinds) {
  std::vector<heap::ObjectRef> arrays;
  for (const ObjectKind& kind : kinds) {
    if (const auto ref = heap.resolve(kind.free_lists.value, heap::Heap::From::Stack)) {
      arrays.push_back(*ref);
    }
  }
  return arrays;
}

// The collector scans these even where it does not scan its own data (pthread_support.c,
// GC_push_thread_structures).
std::vector<heap::ObjectRef> record_objects(const heap::Heap& heap,
                                            std::span<const ThreadRecord> records) {
  std::vector<heap::ObjectRef> objects;
  for (const ThreadRecord& record : records) {
    for (const RemoteAddr at : record.objects) {
      if (const auto ref = heap.object_at(at.value)) objects.push_back(*ref);
    }
  }
  return objects;
}

// Registers count as words of a stack, except the stack pointer.
bool counts_registers(pid_t thread, const ScannedStacks& stacks) {
  const auto& counted = stacks.with_registers;
  return std::find(counted.begin(), counted.end(), thread) != counted.end();
}

std::optional<RemoteAddr> guess_stack_bottom(const heap::Heap& heap,
                                             const Capture& capture,
                                             const Roots& roots,
                                             std::span<const ThreadRecord> records) {
  // For the collector, the first thread is the one that initialised it.
  const auto record = std::find_if(records.begin(), records.end(),
                                   [](const ThreadRecord& r) { return !r.has_own_end; });
  const pid_t first = record == records.end() ? roots.pid : record->thread;
  const auto stack =
      std::find_if(roots.ranges.begin(), roots.ranges.end(), [&](const heap::RootRange& root) {
        return root.kind == heap::RootKind::Stack && root.thread == first;
      });
  if (stack == roots.ranges.end()) return std::nullopt;
  return likely_stack_bottom(heap, capture, roots.collector_data, roots.tables.excluded, *stack);
}

// A thread that could not be stopped may have any record: its stack must stay.
std::vector<ThreadRecord> with_unstopped(std::vector<ThreadRecord> records,
                                         std::span<const FrozenThread> threads) {
  if (records.empty()) return records;
  for (const FrozenThread& thread : threads) {
    if (!thread.registers) records.push_back({.thread = thread.tid, .at = {}});
  }
  return records;
}

std::vector<std::string> problems_of(const Roots& roots,
                                     std::span<const ThreadRecord> records,
                                     const ScannedStacks& stacks,
                                     const Capture& capture) {
  std::vector<std::string> problems = stacks.problems;
  for (auto& text : threads_without_stack(roots.threads, records, stacks.ranges, roots.pid)) {
    problems.push_back(std::move(text));
  }
  for (const FrozenThread& thread : roots.threads) {
    if (thread.registers || thread.state == 'Z' || thread.state == 'X') continue;
    problems.push_back(
        fmt::format("thread {} could not be stopped: its registers are unknown", thread.tid));
  }
  for (auto& text : unread_roots(stacks.ranges, roots.tables.areas, capture)) {
    problems.push_back(std::move(text));
  }
  if (!roots.tables.problem.empty()) problems.push_back(roots.tables.problem);
  return problems;
}

std::string_view name_of(CollectorObject::What what) {
  using What = CollectorObject::What;
  switch (what) {
    case What::FinalizerTable: return "table of finalizers";
    case What::LinkTable: return "table of disappearing links";
    case What::Finalizer: return "finalizer";
    case What::Link: return "disappearing link";
    case What::Descriptors: return "type descriptors";
    case What::FreeLists: return "free lists";
    case What::ThreadRecord: return "thread record";
  }
  return "memory";
}

std::vector<heap::OwnObject> own_objects(std::span<const CollectorObject> found) {
  std::vector<heap::OwnObject> own;
  for (const CollectorObject& object : found) own.push_back({object.ref, name_of(object.what)});
  return own;
}

}  // namespace

LiveSet find_live(
    heap::Heap& heap, const Capture& capture, Roots roots, const MemoryMap& map, unsigned workers) {
  auto records =
      find_thread_records(heap, capture, roots.collector_data, roots.threads, map, roots.machine);
  const auto kinds = roots.kinds ? read_kinds(*roots.kinds, capture) : std::vector<ObjectKind>();
  auto free = find_free_objects(heap, capture, kinds, roots.collector_data, records);
  if (!roots.stack_bottom) roots.stack_bottom = guess_stack_bottom(heap, capture, roots, records);
  ScannedStacks stacks = scan_stacks(roots.ranges, with_unstopped(records, roots.threads),
                                     roots.stack_bottom, roots.pid);
  auto& ranges = stacks.ranges;
  auto problems = problems_of(roots, records, stacks, capture);
  auto& threads = roots.threads;
  std::erase_if(threads, [&](const FrozenThread& thread) {
    return !thread.registers || !counts_registers(thread.tid, stacks);
  });
  auto uncollectable = uncollectable_objects(heap, free);
  auto kept = find_collector_objects(heap, capture, roots.collector_data);
  for (const heap::ObjectRef record : record_objects(heap, records)) {
    kept.tables.push_back(record);
    kept.own.push_back({record, CollectorObject::What::ThreadRecord});
  }
  for (const heap::ObjectRef array : free_list_arrays(heap, kinds)) {
    kept.tables.push_back(array);
    kept.own.push_back({array, CollectorObject::What::FreeLists});
  }
  heap.hide(list_heads(heap, records));

  std::vector<heap::RootWords> words = heap::root_words(ranges, capture);
  for (const FrozenThread& thread : threads) {
    words.push_back({std::as_bytes(std::span(thread.registers->general)), heap::Heap::From::Stack});
  }
  heap::Marker marker(heap, free, workers);
  marker.trace(words, uncollectable);
  marker.trace({}, kept.tables);
  std::erase_if(kept.finalizable, [&](heap::ObjectRef ref) { return marker.is_live(ref); });
  marker.trace({}, kept.finalizable);
  return {{std::move(marker).take_live(), std::move(free), std::move(ranges), std::move(threads),
           std::move(uncollectable), std::move(kept.tables), own_objects(kept.own),
           std::move(kept.finalizable), std::move(problems), records.size()},
          std::move(records)};
}

}  // namespace heapattach::boehm
