#pragma once

#include "symbols/crystal/type_table.h"
#include "symbols/types/type_model.h"

namespace heapattach::types {

// What a table of Crystal's type ids says of layouts, with the names and shapes that debug
// information has for the same types (dwarf_names.h), so that merge() joins both. The type names of
// fields are taken apart: "Pointer(Hash::Entry(String, Int32))", "(A | B | Nil)", "Tuple(Int32,
// String)", "StaticArray(Int32, 24)". Tuples, whose layout no source states, are laid out as the
// compiler does if the sizes of all their elements are known and add up; else they are opaque.
[[nodiscard]] TypeModel types_from_table(const crystal::TypeTable& table);

}  // namespace heapattach::types
