#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "symbols/dwarf/split_sections.h"

namespace heapattach::types {

// What a split unit needs of the program that it was compiled for.
struct SplitContext {
  std::uint64_t low_pc = 0;              // where lists of ranges and locations count from
  std::span<const std::byte> addresses;  // of .debug_addr, from the unit's base on
  std::span<const std::byte> ranges;     // of .debug_ranges, likewise; before DWARF 5
};

// An ELF file that has one split unit as if it had never been split, for libdw, which by itself
// links a split unit to its program only if it may open files by their paths. Nothing if the unit
// makes no sense. The bytes are written to by libelf.
[[nodiscard]] std::optional<std::vector<std::byte>> split_image(const SplitSections& sections,
                                                                const SplitContext& context);

}  // namespace heapattach::types
