#pragma once

#include "symbols/elf/module.h"
#include "symbols/types/type_model.h"

// Sum types and interfaces of V: which of its types a value has is a number, `_typ`, beside the
// pointer to it. For sum types, only the code that makes such a value contains the number: the
// compiler calls it "main__Circle_to_sumtype_main__Shape". For interfaces, a constant is named
// "_main__Speaker_main__Dog_index".
namespace heapattach::vlang {

// The type of the values of a sum type or an interface, as describe() makes it: opaque, with its
// variants as members, and those whose numbers are known as enumerators of the same names.
[[nodiscard]] bool is_of_variants(const types::Type& type);

// Where the number is, from the pointer to the value, and its size.
inline constexpr std::uint64_t kVariantAt = 8;
inline constexpr std::uint64_t kVariantBytes = 4;

// Adds the numbers that can be found to the types of a model that describe() has changed. In
// optimised programs, the code that makes the values of sum types is part of other functions, and
// has no name.
void find_variants(const Modules& modules, types::TypeModel& model);

}  // namespace heapattach::vlang
