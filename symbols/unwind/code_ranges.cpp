#include "symbols/unwind/code_ranges.h"

#include <algorithm>

namespace heapattach::unwind {

void CodeRanges::add(std::uint64_t start, std::uint64_t end, std::size_t owner) {
  ranges_.push_back({start, end, owner, 0});
}

void CodeRanges::sort() {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.start < b.start; });
  std::uint64_t furthest = 0;
  for (Range& range : ranges_) {
    furthest = std::max(furthest, range.end);
    range.furthest = furthest;
  }
}

std::optional<std::size_t> CodeRanges::at(std::uint64_t pc) const {
  auto range = std::partition_point(ranges_.begin(), ranges_.end(),
                                    [pc](const Range& one) { return one.start <= pc; });
  while (range != ranges_.begin() && std::prev(range)->furthest > pc) {
    --range;
    if (range->end > pc) return range->owner;
  }
  return {};
}

}  // namespace heapattach::unwind
