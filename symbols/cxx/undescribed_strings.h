#pragma once

#include "symbols/types/type_model.h"

namespace heapattach::cxx {

// Describes libstdc++'s std::string, or the part of it that has the pointer, where the debug
// information only declares it. clang's does unless -fstandalone-debug is given: it leaves the
// description to the library's own debug information. The layout is part of the library's ABI.
// Returns whether it has changed the model, which must then pass make_sound() again.
bool describe_strings(types::TypeModel& model);

}  // namespace heapattach::cxx
