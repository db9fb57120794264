#pragma once

#include <string_view>

#include "symbols/types/type_model.h"

namespace heapattach::types {

// Describes a Crystal type without contents: a number, Nil, or a type id (a class as a value).
// Returns false, with `type` unchanged, if `name` is none of these.
bool describe_plain(Type& type, std::string_view name);

}  // namespace heapattach::types
