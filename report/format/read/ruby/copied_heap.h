#pragma once

#include <vector>

#include "attach/base/deadline.h"
#include "report/model/model.h"
#include "symbols/ruby/heap_pages.h"
#include "symbols/ruby/references.h"
#include "symbols/ruby/roots.h"

namespace heapattach::ruby {

// The data that edges need in addition to the heap.
struct CopiedReferences {
  ReferenceReader& reader;
  std::vector<RootGroup> roots;
};

// Adds the objects of a copied heap to `snapshot`, with types and sizes, named as dump.h says, and
// edges and roots if there are `references`. Says what is missing: objects that nothing references
// may be there, the sizes lack what libraries allocated, and of structures of C code only the words
// are known. So it is always partial. Unsupported if there are too many.
Result<void> add_objects(const HeapCopy& heap,
                         CopiedReferences* references,
                         snapshot::Snapshot& snapshot,
                         const Deadline& deadline = {});

}  // namespace heapattach::ruby
