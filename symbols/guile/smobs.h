#pragma once

#include <string>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "symbols/guile/facts.h"
#include "symbols/heap/heap.h"
#include "symbols/heap/mark.h"

namespace heapattach::guile {

// Smobs are values of types that programs define, such as LilyPond's "Grob". A type may have a
// function that marks what its values reference. If a value's data is outside the heap, only this
// function knows the references in it, and we cannot see what they keep alive. Returns the names of
// the types with such a function that have values in `live`, sorted. Guile's own types have no such
// function.
[[nodiscard]] std::vector<std::string> types_that_mark_elsewhere(const Facts& facts,
                                                                 const heap::Heap& heap,
                                                                 const heap::ObjectSet& live,
                                                                 const MemoryReader& memory,
                                                                 const MemoryMap& map);

}  // namespace heapattach::guile
