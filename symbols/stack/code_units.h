#pragma once

#include <optional>
#include <vector>

#include <elfutils/libdw.h>

namespace heapattach::stack {

// Which compile unit an instruction of a module is of. By the units' own ranges: not every compiler
// writes .debug_aranges.
class CodeUnits {
 public:
  // `dwarf` may be null: then there are none.
  explicit CodeUnits(Dwarf* dwarf);

  [[nodiscard]] std::optional<Dwarf_Die> at(Dwarf_Addr pc) const;

 private:
  struct Unit {
    Dwarf_Addr start = 0;
    Dwarf_Addr end = 0;
    Dwarf_Die die{};
  };
  std::vector<Unit> units_;  // ranges of code, by address; they may overlap
};

}  // namespace heapattach::stack
