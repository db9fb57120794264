#include "symbols/elf/dwarf_entry.h"

#include <cstring>
#include <functional>

#include <dwarf.h>

namespace heapattach::types {
namespace {

constexpr std::size_t kLongestName = 64U << 10U;

// libdw takes no const DIE, although it changes only a cached abbreviation in it.
Dwarf_Die* open(const Dwarf_Die& die) {
  return const_cast<Dwarf_Die*>(&die);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

}  // namespace

std::optional<Dwarf_Die> die_at(const Dwarf_Die& die, unsigned attribute) {
  Dwarf_Attribute found;
  Dwarf_Die result;
  if (dwarf_attr(open(die), attribute, &found) == nullptr) return std::nullopt;
  if (dwarf_formref_die(&found, &result) == nullptr) return std::nullopt;
  return result;
}

std::optional<std::uint64_t> number_at(const Dwarf_Die& die, unsigned attribute) {
  Dwarf_Attribute found;
  Dwarf_Word number = 0;
  if (dwarf_attr(open(die), attribute, &found) == nullptr) return std::nullopt;
  if (dwarf_formudata(&found, &number) != 0) return std::nullopt;
  return number;
}

bool has(const Dwarf_Die& die, unsigned attribute) {
  return dwarf_hasattr(open(die), attribute) != 0;
}

Dwarf_Die declaration_of(Dwarf_Die die) {
  constexpr int kMostSteps = 8;
  for (int step = 0; step < kMostSteps && !has(die, DW_AT_type); ++step) {
    auto next = die_at(die, DW_AT_specification);
    if (!next) next = die_at(die, DW_AT_abstract_origin);
    if (!next) break;
    die = *next;
  }
  return die;
}

std::string own_name(const Dwarf_Die& die) {
  const char* name = dwarf_diename(open(die));
  if (name == nullptr) return {};
  return std::string(name, strnlen(name, kLongestName));
}

int tag_of(const Dwarf_Die& die) {
  return dwarf_tag(open(die));
}

bool to_sibling(Dwarf_Die& die) {
  const void* const before = die.addr;
  return dwarf_siblingof(&die, &die) == 0 && std::less<>()(before, die.addr);
}

bool is_aggregate(int tag) {
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
         tag == DW_TAG_interface_type;
}

}  // namespace heapattach::types
