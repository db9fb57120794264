#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <elfutils/libdw.h>

// Small wrappers around libdw for debug information entries. On failure, they return empty results.
namespace heapattach::types {

[[nodiscard]] std::optional<Dwarf_Die> die_at(const Dwarf_Die& die, unsigned attribute);
[[nodiscard]] std::optional<std::uint64_t> number_at(const Dwarf_Die& die, unsigned attribute);
[[nodiscard]] bool has(const Dwarf_Die& die, unsigned attribute);
// The entry with the name and type of a variable or parameter, if it is a definition or an
// instance: itself, or one that it references, in another unit with link-time optimization.
[[nodiscard]] Dwarf_Die declaration_of(Dwarf_Die die);
[[nodiscard]] std::string own_name(const Dwarf_Die& die);  // cut at 64 KiB
[[nodiscard]] int tag_of(const Dwarf_Die& die);
// Moves to the sibling of `die`; false if there is none. A backward reference, which no compiler
// writes and which would cause a loop, counts as none.
[[nodiscard]] bool to_sibling(Dwarf_Die& die);
// Calls `take(child)` for each child, until it returns false.
template <class Take>
void each_child(Dwarf_Die parent, const Take& take) {
  Dwarf_Die child;
  if (dwarf_child(&parent, &child) != 0) return;
  while (take(child) && to_sibling(child)) {
  }
}
[[nodiscard]] bool is_aggregate(int tag);  // struct, class, union, or C++'s interface

}  // namespace heapattach::types
