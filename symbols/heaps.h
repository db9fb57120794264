#pragma once

#include <span>

#include "symbols/heap/source.h"

namespace heapattach {

// All kinds of heaps, in the order in which they are looked for. A process is read by the first
// kind that it has; --heap both reads all that it has.
[[nodiscard]] std::span<const heap::Kind* const> heap_kinds();

}  // namespace heapattach
