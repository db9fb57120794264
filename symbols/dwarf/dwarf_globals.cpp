#include <dwarf.h>

#include "symbols/dwarf/dwarf_reader.h"

// Variables with one address for the whole run, including those in functions.

namespace heapattach::types {

void DwarfReader::read_global(const DwarfUnit::Entry& entry) {
  const auto address = address_of(entry.die);
  if (!address) return;
  if (model_.globals.size() >= limits_.globals) {
    ++counts_.left_out;
    return;
  }
  Variable variable;
  variable.name = names_.of_variable(entry.die);
  variable.type = ref_of_type(declaration_of(entry.die), 0);
  variable.address = RemoteAddr{*address};
  if (variable.type != kNoType && !variable.name.empty()) {
    model_.globals.push_back(std::move(variable));
  }
}

std::optional<std::uint64_t> DwarfReader::address_of(const Dwarf_Die& variable) const {
  Dwarf_Die at = variable;
  Dwarf_Attribute attribute;
  if (dwarf_attr(&at, DW_AT_location, &attribute) == nullptr) return std::nullopt;
  if (dwarf_whatform(&attribute) == DW_FORM_sec_offset) return std::nullopt;  // a list
  Dwarf_Op* expression = nullptr;
  std::size_t length = 0;
  if (dwarf_getlocation(&attribute, &expression, &length) != 0 || length != 1) return std::nullopt;
  if (expression[0].atom == DW_OP_addr) {
    // The linker sets discarded variables to zero.
    return expression[0].number == 0 ? std::nullopt : std::optional(expression[0].number);
  }
  if (expression[0].atom != DW_OP_addrx && expression[0].atom != DW_OP_GNU_addr_index) {
    return std::nullopt;
  }
  Dwarf_Attribute indexed;
  Dwarf_Addr address = 0;
  if (dwarf_getlocation_attr(&attribute, expression, &indexed) != 0) return std::nullopt;
  if (dwarf_formaddr(&indexed, &address) != 0 || address == 0) return std::nullopt;
  return address;
}

}  // namespace heapattach::types
