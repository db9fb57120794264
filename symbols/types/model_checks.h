#pragma once

#include "symbols/types/type_model.h"

namespace heapattach::types {

// Makes an untrusted model safe to walk, whatever its source: afterwards, every TypeRef is valid,
// no type contains itself, arrays know their size if possible, members are inside their structs,
// and members and enumerators are sorted. A class whose first base has a header has one, too.
void make_sound(TypeModel& model);

// Adds the contents of `from` to `into`. If both describe a type, `into` keeps its own description;
// if the descriptions differ, the type is listed as a disagreement.
void merge(TypeModel& into, const TypeModel& from);

}  // namespace heapattach::types
