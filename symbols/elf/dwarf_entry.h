#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <elfutils/libdw.h>

// Small steps of libdw over the entries of debug information, with every failure an empty answer.
namespace heapattach::types {

[[nodiscard]] std::optional<Dwarf_Die> die_at(const Dwarf_Die& die, unsigned attribute);
[[nodiscard]] std::optional<std::uint64_t> number_at(const Dwarf_Die& die, unsigned attribute);
[[nodiscard]] bool has(const Dwarf_Die& die, unsigned attribute);
// What a variable or parameter is a definition or an instance of, which has its name and its type:
// the entry itself, or one that it leads to, in other units with link-time optimization.
[[nodiscard]] Dwarf_Die declaration_of(Dwarf_Die die);
[[nodiscard]] std::string own_name(const Dwarf_Die& die);  // cut at 64 KiB
[[nodiscard]] int tag_of(const Dwarf_Die& die);
// To the entry beside `die`; false if there is none. A reference back, which no compiler writes and
// which would lead in a circle, is none.
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
