#pragma once

#include "symbols/types/type_model.h"

namespace heapattach::types {

// Makes a model that nobody vouches for safe to walk, whatever it was made of: every TypeRef is
// one, no type contains itself, arrays know their size if that can be known, members lie in their
// structs, and members and enumerators are sorted. A class whose first base has a header has one.
void make_sound(TypeModel& model);

// Adds what another model knows. Of a type that both describe, `into` keeps its own description; if
// they do not agree, it is listed as a disagreement.
void merge(TypeModel& into, const TypeModel& from);

}  // namespace heapattach::types
