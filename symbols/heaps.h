#pragma once

#include <span>
#include <string_view>

#include "symbols/heap/kind.h"

namespace heapattach {

// All kinds of heaps, in the order in which they are looked for. A process is read by the first
// kind that it has; --heap both reads all that it has.
[[nodiscard]] std::span<const heap::Kind* const> heap_kinds();

// The kind of a heap with this name in a snapshot. An unknown name is that of a collector.
[[nodiscard]] inline const heap::Kind& heap_kind(std::string_view name = {}) {
  for (const heap::Kind* kind : heap_kinds()) {
    if (kind->name == name) return *kind;
  }
  return *heap_kinds().front();
}

}  // namespace heapattach
