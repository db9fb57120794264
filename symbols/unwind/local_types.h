#pragma once

#include <string_view>

#include "symbols/types/type_model.h"

namespace heapattach::unwind {

// The type of a variable by its name. Pointers to types of the model and arrays of them are added
// if it lacks them: variables have such types that no member and no global has ("struct node **",
// "struct node *[4]"). kNoType if it leads to nothing that the model knows.
types::TypeRef type_of_local(std::string_view name, types::TypeModel& model);

}  // namespace heapattach::unwind
