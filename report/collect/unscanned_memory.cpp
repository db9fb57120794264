#include "report/collect/unscanned_memory.h"

#include <algorithm>
#include <utility>

#include "report/collect/stale_words.h"
#include "symbols/boehm/collector_lists.h"
#include "symbols/boehm/roots.h"
#include "symbols/heap/roots.h"

namespace heapattach::snapshot {

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30U;

void add(std::span<const Range> more, std::vector<Range>& to) {
  to.insert(to.end(), more.begin(), more.end());
}

std::vector<Range> merged(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end());
  std::vector<Range> disjoint;
  for (const Range& range : ranges) {
    if (range.bytes == 0) continue;
    if (disjoint.empty() || disjoint.back().end() < range.start) {
      disjoint.push_back(range);
      continue;
    }
    Range& last = disjoint.back();
    last.bytes = std::max(last.end(), range.end()) - last.start;
  }
  return disjoint;
}

// The heap, in use or free, and the collector's tables, which reference it whether it is alive or
// not.
std::vector<Range> of_collector(const Target& target, const HeldHeap& held) {
  std::vector<Range> ranges;
  for (const heap::Block& block : held.index().blocks) {
    ranges.push_back({block.start, block.object(block.objects) - block.start});
  }
  add(held.index().free, ranges);
  add(held.index().headers, ranges);
  add(boehm::collector_lists(held.capture, target.collector_data, target.collector.kinds,
                             held.index(), held.freeze.threads),
      ranges);
  return merged(std::move(ranges));
}

}  // namespace

std::optional<std::vector<Range>> unscanned_memory(const Target& target, const HeldHeap& held) {
  std::vector<Range> writable;
  for (const Mapping& mapping : held.map.mappings()) {
    if (mapping.readable && mapping.writable) writable.push_back(mapping.range);
  }
  std::uint64_t left = kMostBytes;
  std::vector<Range> parts;
  for (Range rest : heap::plan_copy({}, writable, of_collector(target, held), held.map)) {
    if (rest.bytes > left) return {};
    left -= rest.bytes;
    while (rest.bytes > 0) {
      const std::uint64_t bytes = std::min(rest.bytes, StaleWords::kMostBytes);
      parts.push_back({rest.start, bytes});
      rest = {rest.start + bytes, rest.bytes - bytes};
    }
  }
  return parts;
}

}  // namespace heapattach::snapshot
