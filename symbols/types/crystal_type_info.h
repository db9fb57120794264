#pragma once

#include "symbols/crystal/type_table.h"
#include "symbols/types/type_model.h"

namespace heapattach::types {

// Converts the layouts in a table of Crystal's type ids. Uses the same names and shapes as debug
// information does (dwarf_names.h), so that merge() can join both. Parses the type names of fields:
// "Pointer(Hash::Entry(String, Int32))", "(A | B | Nil)", "Tuple(Int32, String)",
// "StaticArray(Int32, 24)". The table does not have the layout of tuples. A tuple is laid out as by
// the compiler if the sizes of all its elements are known and add up; otherwise it is opaque.
[[nodiscard]] TypeModel types_from_table(const crystal::TypeTable& table);

}  // namespace heapattach::types
