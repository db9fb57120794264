#include "symbols/boehm/roots.h"

#include <algorithm>

#include <fmt/format.h>

#include "attach/base/page.h"

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

// Whether the next collection registers this part of a module. The decision of the program's filter
// is known from the last one.
bool is_registered(const Range& part, const RootTables& tables) {
  if (!tables.registers_modules) return false;
  return !tables.filters_modules ||
         std::any_of(tables.areas.begin(), tables.areas.end(), [&](const RootArea& area) {
           return area.is_temporary && area.range.start < part.end() &&
                  part.start < area.range.end();
         });
}

// Calls visit(at, bytes) for each part of `range` that was copied, in order.
template <class Visit>
void for_each_piece(const Range& range, const Capture& capture, const Visit& visit) {
  for (RemoteAddr at = range.start; at < range.end();) {
    const auto bytes = capture.bytes_from(at).first(
        std::min<std::uint64_t>(capture.bytes_from(at).size(), range.end() - at));
    if (!bytes.empty()) visit(at, bytes);
    // What was not copied is whole pages, or the rest of one.
    at = bytes.empty() ? RemoteAddr{(at.value | (kLeastPageBytes - 1)) + 1} : at + bytes.size();
  }
}

}  // namespace

std::vector<RootRange> static_roots(const Modules& modules,
                                    const Collector& collector,
                                    const RootTables& tables) {
  std::vector<Range> holes = tables.excluded.empty() ? collector.excluded : tables.excluded;
  std::vector<Range> wanted;
  for (const Module& module : modules.all()) {
    const auto relro = module.relro();
    for (const Segment& segment : module.segments()) {
      if (!segment.writable || !is_registered(segment.range, tables)) continue;
      subtract(segment.range, {relro ? &*relro : nullptr, relro ? 1U : 0U}, wanted);
    }
  }
  for (const RootArea& area : tables.areas) {
    if (!area.is_temporary) wanted.push_back(area.range);
  }
  std::sort(wanted.begin(), wanted.end());
  std::vector<Range> parts;
  RemoteAddr done{0};
  for (Range range : wanted) {
    range = aligned(range);
    if (range.end() <= done) continue;
    if (range.start < done) range = {done, range.end() - done};
    done = range.end();
    subtract(range, holes, parts);
  }
  std::vector<RootRange> roots;
  for (const Range& part : parts) roots.push_back({.range = aligned(part)});
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
    // Only the mappings that overlap it: there are two for each fiber.
    const auto& mappings = map.mappings();
    auto mapping = std::partition_point(mappings.begin(), mappings.end(), [&](const Mapping& m) {
      return m.range.end() <= range.start;
    });
    for (; mapping != mappings.end() && mapping->range.start < range.end(); ++mapping) {
      if (!mapping->readable) continue;
      const RemoteAddr start = std::max(range.start, mapping->range.start);
      const RemoteAddr end = std::min(range.end(), mapping->range.end());
      // Only the heap ranges that may overlap, because there are many.
      const auto first = std::partition_point(heap.begin(), heap.end(),
                                              [&](const Range& r) { return r.end() <= start; });
      const auto last =
          std::partition_point(first, heap.end(), [&](const Range& r) { return r.start < end; });
      subtract({start, end - start}, {first, last}, plan);
    }
  }
  return plan;
}

std::vector<RootWords> root_words(std::span<const RootRange> roots, const Capture& capture) {
  std::vector<RootWords> words;
  words.reserve(roots.size());
  for (const RootRange& root : roots) {
    const auto from = root.kind == RootKind::Global ? Heap::From::Heap : Heap::From::Stack;
    for_each_piece(root.range, capture, [&](RemoteAddr at, std::span<const std::byte> bytes) {
      words.push_back({bytes, from, at});
    });
  }
  return words;
}

std::vector<std::string> unread_roots(std::span<const RootRange> roots,
                                      std::span<const RootArea> areas,
                                      const Capture& capture) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> missing;
  for (const RootRange& root : roots) {
    if (missing.size() == kMost) break;
    std::uint64_t bytes = root.range.bytes;
    for_each_piece(root.range, capture,
                   [&](RemoteAddr, std::span<const std::byte> piece) { bytes -= piece.size(); });
    for (const Range& hole : capture.holes()) {
      const RemoteAddr start = std::max(hole.start, root.range.start);
      const RemoteAddr end = std::min(hole.end(), root.range.end());
      if (start < end) bytes += end - start;
    }
    const bool is_areas = std::any_of(areas.begin(), areas.end(), [&](const RootArea& area) {
      return !area.is_temporary && area.range.start < root.range.end() &&
             root.range.start < area.range.end();
    });
    const bool is_gone = root.kind == RootKind::Global && bytes == root.range.bytes && !is_areas;
    if (bytes == 0 || is_gone) continue;
    const std::string what = root.kind == RootKind::Stack
                                 ? fmt::format("the stack of thread {}", root.thread)
                                 : fmt::format("the roots from {} on", root.range.start);
    missing.push_back(fmt::format("{} bytes of {} could not be read", bytes, what));
  }
  return missing;
}

}  // namespace heapattach::boehm
