#pragma once

#include "symbols/crystal/type_table.h"
#include "symbols/types/type_model.h"

namespace heapattach::types {

// Converts the layouts in a table of Crystal's type ids. Uses the same names and shapes as debug
// information does (dwarf_names.h), so that merge() can join both. Parses the type names of fields:
// "Pointer(Hash::Entry(String, Int32))", "(A | B | Nil)", "Tuple(Int32, String)",
// "StaticArray(Int32, 24)". No source states the layout of tuples. They are laid out as by the
// compiler if the sizes of all their elements are known and add up; otherwise they are opaque.
[[nodiscard]] TypeModel types_from_table(const crystal::TypeTable& table);

}  // namespace heapattach::types
