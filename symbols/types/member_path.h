#pragma once

#include <cstdint>
#include <string>

#include "symbols/types/type_model.h"

namespace heapattach::types {

// What is `offset` bytes into a variable of that type, as it follows the variable's name in the
// language: ".pools[2].head". Ends before whatever has no name that a programmer would write: a
// member of a union, as any of them may be the valid one, and the inside of the C++ library's
// types.
[[nodiscard]] std::string member_path(const TypeModel& model, TypeRef type, std::uint64_t offset);

}  // namespace heapattach::types
