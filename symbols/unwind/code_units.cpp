#include "symbols/unwind/code_units.h"

namespace heapattach::unwind {

namespace {

constexpr std::size_t kMostRanges = 10'000'000;

}  // namespace

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
