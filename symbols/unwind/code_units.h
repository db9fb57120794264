#pragma once

#include <optional>
#include <vector>

#include <elfutils/libdw.h>

#include "symbols/unwind/code_ranges.h"

namespace heapattach::unwind {

// Finds the compile unit of an instruction from the units' own ranges, because not every compiler
// writes .debug_aranges.
class CodeUnits {
 public:
  // `dwarf` may be null: then there are no units.
  explicit CodeUnits(Dwarf* dwarf);

  [[nodiscard]] std::optional<Dwarf_Die> at(Dwarf_Addr pc) const;

 private:
  std::vector<Dwarf_Die> units_;
  CodeRanges ranges_;  // owners are indices into units_
};

}  // namespace heapattach::unwind
