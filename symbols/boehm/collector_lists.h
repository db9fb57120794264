#pragma once

#include <span>
#include <vector>

#include "attach/memory/capture.h"
#include "attach/stop/freeze.h"
#include "symbols/boehm/collector.h"
#include "symbols/heap/blocks.h"

// A collector has lists outside its heap that still reference objects that a collection found,
// alive or not. These lists keep none of malloc's memory alive, because we know which objects of
// the collector are alive.
namespace heapattach::boehm {

// Finds these lists in the copy, by their shape (mark.c, reclaim.c and pthread_support.c of libgc):
//   - the mark stack, if it is empty: four words of the collector's data are its start, its end,
//     the place below its first entry, and the number of its entries, a power of two;
//   - the lists of blocks to reclaim of each kind of objects: arrays of 129 words (257 before
//     release 7), each 0 or the start of a block;
//   - the mark stacks of the threads that mark in parallel, whose names are GC-marker-N.
//
// A list that is not found remains a root and may hide a leak. The result is sorted and disjoint.
std::vector<Range> collector_lists(const Capture& capture,
                                   std::span<const Range> collector_data,
                                   const Collector& collector,
                                   const heap::BlockIndex& index,
                                   std::span<const FrozenThread> threads);

}  // namespace heapattach::boehm
