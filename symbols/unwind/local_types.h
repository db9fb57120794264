#pragma once

#include <string_view>

#include "symbols/types/type_model.h"

namespace heapattach::unwind {

// Looks up a variable's type by name. If the model lacks a type such as "struct node **" or "struct
// node *[4]", which no member and no global has, adds it. Returns kNoType if the model does not
// know the type to which it points or of which it is an array.
types::TypeRef type_of_local(std::string_view name, types::TypeModel& model);

}  // namespace heapattach::unwind
