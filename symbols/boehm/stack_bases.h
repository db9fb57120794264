#pragma once

#include <cstdint>

#include "attach/memory/capture.h"
#include "symbols/heap/live_set.h"

namespace heapattach::boehm {

// The number of objects that are alive only in incremental mode: they ignore pointers past their
// first page, and nothing but such pointers on stacks references them (MarkingRules,
// finds_bases_from_stacks). For a collector of which the mode is unknown. `heap` is as before in
// the end.
std::uint64_t count_held_past_first_page(heap::Heap& heap,
                                         const Capture& capture,
                                         const heap::LiveSet& found);

}  // namespace heapattach::boehm
