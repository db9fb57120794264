#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "symbols/dwarf/split_sections.h"

namespace heapattach::types {

// The data that a split unit needs from the program that it belongs to.
struct SplitContext {
  std::uint16_t machine = 0;             // e_machine
  std::uint64_t low_pc = 0;              // the base of lists of ranges and locations
  std::span<const std::byte> addresses;  // .debug_addr, from the unit's base on
  std::span<const std::byte> ranges;     // .debug_ranges, likewise; before DWARF 5
};

// Builds an ELF file with one split unit, as if it had never been split. libdw itself can link a
// split unit to its program only if it may open files by path. Nothing if the unit is malformed.
// libelf writes to the bytes.
[[nodiscard]] std::optional<std::vector<std::byte>> split_image(const SplitSections& sections,
                                                                const SplitContext& context);

}  // namespace heapattach::types
