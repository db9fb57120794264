#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <elfutils/libdw.h>

namespace heapattach::types {

// What stays in a program of a unit whose debug information was split off.
struct Skeleton {
  std::string name;       // of the .dwo, as the compiler was told
  std::string directory;  // in which that was
  std::uint64_t id = 0;
  std::uint64_t low_pc = 0;
  std::uint64_t addresses = 0;  // where in .debug_addr the unit's begin
  std::uint64_t ranges = 0;     // where in .debug_ranges the unit's begin; before DWARF 5
};

// Nothing if the unit with this root was not split.
[[nodiscard]] std::optional<Skeleton> skeleton_of(const Dwarf_Die& root);

// The id by which a skeleton and a split unit find each other; nothing if it is neither.
[[nodiscard]] std::optional<std::uint64_t> unit_id(const Dwarf_Die& root);

}  // namespace heapattach::types
