#pragma once

#include <span>
#include <vector>

#include "attach/memory/capture.h"
#include "attach/process/descriptors.h"
#include "report/collect/opened.h"
#include "symbols/heap/fact.h"
#include "symbols/heap/root_range.h"

namespace heapattach::snapshot {

// The places besides its private memory where a program may keep references to its allocations:
// memory that it shares, pages without access rights, and the kernel.
struct OtherReferences {
  std::vector<Range> shared;           // the parts of shared memory that were copied, sorted
  std::vector<heap::RootRange> roots;  // the others: copied pages, and copies of the kernel's words
  std::vector<heap::Fact> unsearched;
};

// Copies them from the process itself, because its clones have none of its descriptors, and from a
// core file as far as that has them. `before` are the descriptors of a moment ago, or none. Shared
// pages that are not present are not read, because that would allocate them.
Result<OtherReferences> copy_other_references(const Opened& target,
                                              const MemoryMap& map,
                                              std::span<const Descriptor> before,
                                              const CopyLimits& limits,
                                              Capture& capture);

}  // namespace heapattach::snapshot
