#pragma once

#include <optional>

#include "symbols/boehm/collector.h"
#include "symbols/heap/source.h"

namespace heapattach::boehm {

// A program may make the collector call a function of its own for more roots
// (GC_set_push_other_roots). Returns that function; none if it is the collector's own.
[[nodiscard]] std::optional<heap::RootFunction> find_root_function(const Collector& collector,
                                                                   const Modules& modules,
                                                                   const MemoryReader& memory);

}  // namespace heapattach::boehm
