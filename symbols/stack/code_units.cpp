#include "symbols/stack/code_units.h"

#include <algorithm>

namespace heapattach::stack {

namespace {

constexpr std::size_t kMostRanges = 10'000'000;

}  // namespace

CodeUnits::CodeUnits(Dwarf* dwarf) {
  if (dwarf == nullptr) return;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  while (dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
    std::ptrdiff_t offset = 0;
    Unit found{.die = die};
    Dwarf_Addr base = 0;
    while (units_.size() < kMostRanges &&
           (offset = dwarf_ranges(&die, offset, &base, &found.start, &found.end)) > 0) {
      units_.push_back(found);
    }
  }
  std::sort(units_.begin(), units_.end(),
            [](const Unit& a, const Unit& b) { return a.start < b.start; });
}

std::optional<Dwarf_Die> CodeUnits::at(Dwarf_Addr pc) const {
  const auto behind = std::partition_point(units_.begin(), units_.end(),
                                           [pc](const Unit& unit) { return unit.start <= pc; });
  if (behind == units_.begin() || pc >= std::prev(behind)->end) return {};
  return std::prev(behind)->die;
}

}  // namespace heapattach::stack
