#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <elfutils/libdw.h>

namespace heapattach::types {

// The part of a split unit that remains in the program.
struct Skeleton {
  std::string name;       // of the .dwo, as given to the compiler
  std::string directory;  // the compiler's working directory
  std::uint64_t id = 0;
  std::uint64_t low_pc = 0;
  std::uint64_t addresses = 0;  // where the unit's part of .debug_addr begins
  std::uint64_t ranges = 0;     // where the unit's part of .debug_ranges begins; before DWARF 5
};

// Nothing if the unit with this root is not a skeleton.
[[nodiscard]] std::optional<Skeleton> skeleton_of(const Dwarf_Die& root);

// The id that a skeleton shares with its split unit; nothing if it is neither.
[[nodiscard]] std::optional<std::uint64_t> unit_id(const Dwarf_Die& root);

}  // namespace heapattach::types
