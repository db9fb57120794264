#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

namespace heapattach::types {

// The index of a package of split units (.debug_cu_index and .debug_tu_index of a .dwp): which part
// of each section belongs to a unit. Reads the GNU format for DWARF 4 (version 2) and the DWARF 5
// format.
class PackageIndex {
 public:
  struct Part {
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0;
  };
  struct Row {
    Part info;
    Part type_units;  // before DWARF 5
    Part abbreviations;
    Part lines;
    Part locations;
    Part ranges;
    Part string_offsets;
  };

  PackageIndex() = default;
  // Skips what cannot be read. The caller must check that the parts are inside their sections.
  explicit PackageIndex(std::span<const std::byte> section);

  [[nodiscard]] const std::map<std::uint64_t, Row>& rows() const { return rows_; }  // by unit's id

 private:
  std::map<std::uint64_t, Row> rows_;
};

}  // namespace heapattach::types
