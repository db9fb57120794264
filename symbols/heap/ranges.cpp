#include "symbols/heap/ranges.h"

#include <algorithm>

namespace heapattach::heap {

std::vector<Range> joined(std::vector<Range> ranges) {
  if (!std::is_sorted(ranges.begin(), ranges.end())) std::sort(ranges.begin(), ranges.end());
  std::size_t kept = 0;
  for (const Range& range : ranges) {
    if (range.bytes == 0) continue;
    if (kept > 0 && range.start <= ranges[kept - 1].end()) {
      Range& last = ranges[kept - 1];
      last.bytes = std::max(range.end(), last.end()) - last.start;
    } else {
      ranges[kept++] = range;
    }
  }
  ranges.resize(kept);
  return ranges;
}

std::span<const Range> overlapping(std::span<const Range> ranges, const Range& memory) {
  const auto first = std::partition_point(
      ranges.begin(), ranges.end(), [&](const Range& one) { return one.end() <= memory.start; });
  const auto last = std::find_if(first, ranges.end(),
                                 [&](const Range& one) { return one.start >= memory.end(); });
  return {first, last};
}

std::vector<Range> without(Range range, std::span<const Range> holes) {
  std::vector<Range> parts;
  for_each_outside(range, holes, [&](const Range& part) { parts.push_back(part); });
  return parts;
}

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

}  // namespace heapattach::heap
