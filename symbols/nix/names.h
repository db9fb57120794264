#pragma once

#include "symbols/nix/facts.h"
#include "symbols/runtimes/heap_view.h"
#include "symbols/runtimes/object_names.h"

namespace heapattach::nix {

// Names the objects of a heap that have no name yet. First come values whose words prove their
// type, then the objects that these reference, by the type of the reference. Takes linear time, on
// one core.
void name_objects(const Facts& facts, const runtimes::HeapView& view, runtimes::ObjectNames& names);

}  // namespace heapattach::nix
