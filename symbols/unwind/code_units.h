#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <elfutils/libdw.h>

namespace heapattach::unwind {

// Ranges of code, each with the number of its owner. The ranges may overlap and nest.
class CodeRanges {
 public:
  void add(std::uint64_t start, std::uint64_t end, std::size_t owner);
  // Call once, after the last add().
  void sort();

  // The owner of the range that contains `pc`; of several ranges, the one that starts last counts.
  [[nodiscard]] std::optional<std::size_t> at(std::uint64_t pc) const;

  [[nodiscard]] std::size_t size() const { return ranges_.size(); }

 private:
  struct Range {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::size_t owner = 0;
    std::uint64_t furthest = 0;  // the highest end of this range and all ranges before it
  };
  std::vector<Range> ranges_;  // by start
};

// Finds the compile unit of an instruction from the units' own ranges, because not every compiler
// writes .debug_aranges.
class CodeUnits {
 public:
  // `dwarf` may be null; there are no units then.
  explicit CodeUnits(Dwarf* dwarf);

  [[nodiscard]] std::optional<Dwarf_Die> at(Dwarf_Addr pc) const;

 private:
  std::vector<Dwarf_Die> units_;
  CodeRanges ranges_;  // owners are indices into units_
};

}  // namespace heapattach::unwind
