#pragma once

#include <string_view>

#include "symbols/types/type_model.h"

namespace heapattach::unwind {

// Looks up a variable's type by the type's name. Adds pointers to types of the model and arrays of
// them if the model lacks them: variables may have types that no member and no global has
// ("struct node **", "struct node *[4]"). kNoType if the model does not know the type.
types::TypeRef type_of_local(std::string_view name, types::TypeModel& model);

}  // namespace heapattach::unwind
