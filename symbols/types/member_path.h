#pragma once

#include <cstdint>
#include <string>

#include "symbols/types/type_model.h"

namespace heapattach::types {

// The path to the member at `offset` in a variable of this type, as the language writes it after
// the variable's name: ".pools[2].head". The path ends before what a programmer would not name: the
// members of a union, because any of them may be the valid one, and the inside of the C++ library's
// types.
[[nodiscard]] std::string member_path(const TypeModel& model, TypeRef type, std::uint64_t offset);

}  // namespace heapattach::types
