#pragma once

#include <cstddef>
#include <span>

namespace heapattach::types {

// The sections of one unit of split debug information, from its own .dwo or from a package. Borrows
// the bytes.
struct SplitSections {
  using Bytes = std::span<const std::byte>;

  Bytes info;        // the unit alone, from its header on
  Bytes type_units;  // its type units: in .debug_info in DWARF 5, in .debug_types before
  Bytes abbreviations;
  Bytes lines;
  Bytes locations;  // .debug_loclists, before DWARF 5 .debug_loc
  Bytes ranges;     // .debug_rnglists; before DWARF 5 they stay in the program
  Bytes string_offsets;
  Bytes strings;
};

}  // namespace heapattach::types
