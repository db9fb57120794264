#include "symbols/boehm/roots.h"

#include <algorithm>

#include <fmt/format.h>

#include "attach/arch/red_zone.h"
#include "symbols/heap/ranges.h"
#include "symbols/heap/roots.h"

namespace heapattach::boehm {
namespace {

// The whole words within `range`.
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

}  // namespace

std::vector<heap::RootRange> static_roots(const Modules& modules,
                                          const Collector& collector,
                                          const RootTables& tables) {
  std::vector<Range> holes = tables.excluded.empty() ? collector.excluded : tables.excluded;
  std::vector<Range> wanted;
  for (const Module& module : modules.all()) {
    const auto relro = module.relro();
    for (const Segment& segment : module.segments()) {
      if (!segment.writable || !is_registered(segment.range, tables)) continue;
      heap::subtract(segment.range, {relro ? &*relro : nullptr, relro ? 1U : 0U}, wanted);
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
    heap::subtract(range, holes, parts);
  }
  std::vector<heap::RootRange> roots;
  roots.reserve(parts.size());
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

std::vector<heap::RootRange> stack_roots(std::span<const FrozenThread> threads,
                                         const MemoryMap& map,
                                         std::uint16_t machine) {
  const std::uint64_t red_zone = red_zone_bytes(machine);
  std::vector<heap::RootRange> roots;
  for (const FrozenThread& thread : threads) {
    std::optional<RemoteAddr> pointer = thread.blocked_stack_pointer;
    if (thread.registers) pointer = thread.registers->stack_pointer;
    if (!pointer) continue;
    const Mapping* mapping = map.find(*pointer);
    if (mapping == nullptr || !mapping->readable) continue;
    const RemoteAddr low{
        std::max(mapping->range.start.value, pointer->value - std::min(pointer->value, red_zone))};
    roots.push_back({.kind = heap::RootKind::Stack,
                     .range = aligned({low, mapping->range.end() - low}),
                     .thread = thread.tid});
  }
  return roots;
}

std::vector<std::string> unread_roots(std::span<const heap::RootRange> roots,
                                      std::span<const RootArea> areas,
                                      const Capture& capture) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> missing;
  for (const heap::RootRange& root : roots) {
    if (missing.size() == kMost) break;
    std::uint64_t bytes = root.range.bytes;
    for (const heap::RootWords& piece : heap::root_words({&root, 1}, capture)) {
      bytes -= piece.bytes.size();
    }
    for (const Range& hole : capture.holes()) {
      const RemoteAddr start = std::max(hole.start, root.range.start);
      const RemoteAddr end = std::min(hole.end(), root.range.end());
      if (start < end) bytes += end - start;
    }
    const bool is_areas = std::any_of(areas.begin(), areas.end(), [&](const RootArea& area) {
      return !area.is_temporary && area.range.start < root.range.end() &&
             root.range.start < area.range.end();
    });
    const bool is_gone =
        root.kind == heap::RootKind::Global && bytes == root.range.bytes && !is_areas;
    if (bytes == 0 || is_gone) continue;
    const std::string what = root.kind == heap::RootKind::Stack
                                 ? fmt::format("the stack of thread {}", root.thread)
                                 : fmt::format("the roots from {} on", root.range.start);
    missing.push_back(fmt::format("{} bytes of {} could not be read", bytes, what));
  }
  return missing;
}

}  // namespace heapattach::boehm
