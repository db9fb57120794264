#pragma once

#include <string_view>

#include "symbols/types/type_model.h"

namespace heapattach::types {

// Describes a type of Crystal's own that has no inside: numbers, Nil, the type id that a class is
// as a value. False if `name` is none of those; `type` is as it was then.
bool describe_plain(Type& type, std::string_view name);

}  // namespace heapattach::types
