#pragma once

#include <string_view>

#include "report/collect/held_heap.h"
#include "report/collect/take.h"
#include "report/collect/target.h"
#include "report/model/model.h"

namespace heapattach::snapshot {

// Fills the header: which process, when, how it was held, and the collector's own counters.
void fill_header(const Target& target,
                 const HeldHeap& held,
                 const TakeOptions& options,
                 Snapshot& snapshot);

// The name of a layout's source, as in the header: "accessors".
[[nodiscard]] std::string_view name_of(boehm::Layout::Source source);

}  // namespace heapattach::snapshot
