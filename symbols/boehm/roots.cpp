#include "symbols/boehm/roots.h"

#include <algorithm>

namespace heapattach::boehm {
namespace {

constexpr std::uint64_t kRedZoneBytes = 128;  // below the stack pointer (System V ABI, x86-64)

// `from` without `holes`, appended to `into`.
void subtract(Range from, std::span<const Range> holes, std::vector<Range>& into) {
  std::vector<Range> sorted(holes.begin(), holes.end());
  std::sort(sorted.begin(), sorted.end());
  RemoteAddr at = from.start;
  for (const Range& hole : sorted) {
    if (hole.end() <= at || hole.start >= from.end()) continue;
    if (hole.start > at) into.push_back({at, hole.start - at});
    at = std::max(at, hole.end());
  }
  if (at < from.end()) into.push_back({at, from.end() - at});
}

// Whole words within.
Range aligned(Range range) {
  const std::uint64_t start = (range.start.value + 7) & ~std::uint64_t{7};
  const std::uint64_t end = range.end().value & ~std::uint64_t{7};
  return {{start}, end > start ? end - start : 0};
}

bool is_collectors(const Module& module, const Collector& collector) {
  return module.name() == collector.module || module.path() == collector.module;
}

bool is_end(const RootRange& stack, RemoteAddr at) {
  return at > stack.range.start && at <= stack.range.end();
}

}  // namespace

std::vector<RootRange> module_roots(const Modules& modules, const Collector& collector) {
  std::vector<RootRange> roots;
  for (const Module& module : modules.all()) {
    std::vector<Range> holes = collector.excluded;
    if (const auto relro = module.relro()) holes.push_back(*relro);
    std::vector<Range> parts;
    for (const Segment& segment : module.segments()) {
      if (segment.writable) subtract(segment.range, holes, parts);
    }
    for (const Range& part : parts) roots.push_back({.range = aligned(part)});
  }
  return roots;
}

std::vector<Range> collector_data(const Modules& modules, const Collector& collector) {
  std::vector<Range> ranges;
  for (const Module& module : modules.all()) {
    if (!is_collectors(module, collector)) continue;
    for (const Segment& segment : module.segments()) {
      if (segment.writable) ranges.push_back(aligned(segment.range));
    }
  }
  return ranges;
}

std::vector<RootRange> stack_roots(std::span<const FrozenThread> threads, const MemoryMap& map) {
  std::vector<RootRange> roots;
  for (const FrozenThread& thread : threads) {
    std::optional<RemoteAddr> pointer = thread.blocked_stack_pointer;
    if (thread.registers) pointer = thread.registers->stack_pointer;
    if (!pointer) continue;
    const Mapping* mapping = map.find(*pointer);
    if (mapping == nullptr || !mapping->readable) continue;
    const RemoteAddr low{std::max(mapping->range.start.value,
                                  pointer->value - std::min(pointer->value, kRedZoneBytes))};
    roots.push_back({.kind = RootKind::Stack,
                     .range = aligned({low, mapping->range.end() - low}),
                     .thread = thread.tid});
  }
  return roots;
}

std::vector<Range> plan_copy(std::span<const RootRange> roots,
                             std::span<const Range> more,
                             std::span<const Range> heap,
                             const MemoryMap& map) {
  std::vector<Range> wanted(more.begin(), more.end());
  for (const RootRange& root : roots) wanted.push_back(root.range);
  std::sort(wanted.begin(), wanted.end());

  std::vector<Range> plan;
  RemoteAddr done{0};
  for (Range range : wanted) {
    if (range.bytes == 0 || range.end() <= done) continue;
    if (range.start < done) range = {done, range.end() - done};
    done = range.end();
    // Only the mappings that it reaches into: there are two for each fiber.
    const auto& mappings = map.mappings();
    auto mapping = std::partition_point(mappings.begin(), mappings.end(), [&](const Mapping& m) {
      return m.range.end() <= range.start;
    });
    for (; mapping != mappings.end() && mapping->range.start < range.end(); ++mapping) {
      if (!mapping->readable) continue;
      const RemoteAddr start = std::max(range.start, mapping->range.start);
      const RemoteAddr end = std::min(range.end(), mapping->range.end());
      // Only the heap's ranges that may reach in, for there are many.
      const auto first = std::partition_point(heap.begin(), heap.end(),
                                              [&](const Range& r) { return r.end() <= start; });
      const auto last =
          std::partition_point(first, heap.end(), [&](const Range& r) { return r.start < end; });
      subtract({start, end - start}, {first, last}, plan);
    }
  }
  return plan;
}

std::vector<RootRange> trim_stacks(std::vector<RootRange> roots,
                                   std::span<const ThreadRecord> records,
                                   std::optional<RemoteAddr> stack_bottom,
                                   pid_t pid) {
  const auto record_of = [&](pid_t thread) {
    return std::find_if(records.begin(), records.end(),
                        [&](const ThreadRecord& r) { return r.thread == thread; });
  };
  const bool can_tell = record_of(pid) != records.end();
  std::vector<RootRange> kept;
  for (RootRange& root : roots) {
    if (root.kind == RootKind::Stack) {
      const auto record = record_of(root.thread);
      const bool is_first = root.thread == pid || (stack_bottom && is_end(root, *stack_bottom));
      std::optional<RemoteAddr> end;
      // The first thread's record has no end: what looks like one is where its stack pointer once
      // was, with frames of the program above it.
      if (is_first) end = stack_bottom;
      if (!is_first && record != records.end()) end = record->stack_end;
      if (!end && !is_first && can_tell) continue;
      // An end elsewhere is of another stack of this thread, one that it is not on.
      if (end && is_end(root, *end)) {
        root.range = aligned({root.range.start, *end - root.range.start});
      }
    }
    kept.push_back(root);
  }
  return kept;
}

std::vector<RootWords> root_words(std::span<const RootRange> roots, const Capture& capture) {
  std::vector<RootWords> words;
  words.reserve(roots.size());
  for (const RootRange& root : roots) {
    const auto bytes = capture.bytes_from(root.range.start);
    const bool is_stack = root.kind != RootKind::Global;
    words.push_back({bytes.first(std::min<std::size_t>(bytes.size(), root.range.bytes)),
                     is_stack ? Heap::From::Stack : Heap::From::Heap});
  }
  return words;
}

}  // namespace heapattach::boehm
