#include "symbols/unwind/code_units.h"

#include <algorithm>

namespace heapattach::unwind {

namespace {

constexpr std::size_t kMostRanges = 10'000'000;

}  // namespace

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

CodeUnits::CodeUnits(Dwarf* dwarf) {
  if (dwarf == nullptr) return;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  while (dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
    std::ptrdiff_t offset = 0;
    Dwarf_Addr base = 0;
    Dwarf_Addr start = 0;
    Dwarf_Addr end = 0;
    while (ranges_.size() < kMostRanges &&
           (offset = dwarf_ranges(&die, offset, &base, &start, &end)) > 0) {
      ranges_.add(start, end, units_.size());
    }
    units_.push_back(die);
  }
  ranges_.sort();
}

std::optional<Dwarf_Die> CodeUnits::at(Dwarf_Addr pc) const {
  const auto unit = ranges_.at(pc);
  if (!unit) return {};
  return units_[*unit];
}

}  // namespace heapattach::unwind
