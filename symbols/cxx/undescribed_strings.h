#pragma once

#include "symbols/types/type_model.h"

namespace heapattach::cxx {

// Describes libstdc++'s std::string, or its part with the pointer, if debug information only
// declares it. clang only declares it unless -fstandalone-debug is given, because the library's own
// debug information describes it. The layout is part of the library's ABI. Returns whether the
// model has changed and must pass make_sound() again.
bool describe_strings(types::TypeModel& model);

}  // namespace heapattach::cxx
