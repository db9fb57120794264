#pragma once

#include "symbols/crystal/type_table.h"
#include "symbols/types/type_model.h"

namespace heapattach::types {

// The layouts in a table of Crystal's type ids, with the names and shapes that debug information
// has for the same types (dwarf_names.h), so that merge() joins both. Parses the type names of
// fields: "Pointer(Hash::Entry(String, Int32))", "(A | B | Nil)", "Tuple(Int32, String)",
// "StaticArray(Int32, 24)". No source states the layout of tuples: they are laid out as the
// compiler does if the sizes of all their elements are known and add up; otherwise they are opaque.
[[nodiscard]] TypeModel types_from_table(const crystal::TypeTable& table);

}  // namespace heapattach::types
