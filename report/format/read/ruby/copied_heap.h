#pragma once

#include "report/model/model.h"
#include "symbols/ruby/heap_pages.h"

namespace heapattach::ruby {

// Adds the objects of a copied heap to `snapshot`, with types and sizes, named as dump.h says, and
// says what is missing: there are no edges and no roots, objects that nothing references may be
// there, and the sizes lack what libraries allocated. So it is always partial. Unsupported if there
// are too many.
Result<void> add_objects(const HeapCopy& heap, snapshot::Snapshot& snapshot);

}  // namespace heapattach::ruby
