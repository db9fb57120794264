#pragma once

#include "symbols/nix/facts.h"
#include "symbols/runtimes/heap_view.h"
#include "symbols/runtimes/object_names.h"

namespace heapattach::nix {

// Names the objects of a heap that have no name yet: first values whose words prove their type,
// then everything that they refer to, by the type of the reference. Takes linear time, on one core.
void name_objects(const Facts& facts, const runtimes::HeapView& view, runtimes::ObjectNames& names);

}  // namespace heapattach::nix
