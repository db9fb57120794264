#pragma once

#include <string_view>

#include "symbols/types/type_model.h"

namespace heapattach::types {

// Describes a Crystal type without contents: numbers, Nil, or a type id (a class as a value).
// False, with `type` unchanged, if `name` is none of those.
bool describe_plain(Type& type, std::string_view name);

}  // namespace heapattach::types
