#pragma once

#include <vector>

#include "attach/memory/capture.h"
#include "symbols/boehm/layout.h"
#include "symbols/boehm/marking_rules.h"
#include "symbols/heap/heap.h"

namespace heapattach::boehm {

// The parts of a heap that must be copied to trace it and name its objects: every block in use, but
// only the start of a large object without pointers, unless it may contain the collector's own
// bitmaps. Sorted and disjoint, with adjacent ranges joined.
std::vector<Range> plan_copy(const heap::BlockIndex& index, const Layout& layout);

// Makes a heap of the collector. Until it gets more rules, it follows only the descriptors that
// explain themselves.
heap::Heap make_heap(const heap::BlockIndex& index, const Layout& layout, const Capture& capture);

void follow(heap::Heap& heap, MarkingRules rules);
// The rules that a heap of the collector follows.
const MarkingRules& rules_of(const heap::Heap& heap);

// Whether `size`, from the entry of an object's finalizer, is the size of the object: in bytes, or
// in words before release 7.
[[nodiscard]] bool is_size_of(const heap::Heap& heap, heap::ObjectRef ref, std::uint64_t size);

}  // namespace heapattach::boehm
