#pragma once

#include "attach/memory_map.h"

namespace heapattach::boehm {

// Whether a heap, or what the collector keeps of it, may lie in a mapping: it is writable, or it is
// private memory without a file that is write-protected for now. In incremental mode the collector
// protects its heap page by page, to see what the program writes (os_dep.c, GC_protect_heap). What
// the kernel lends, such as "[vvar]", cannot be read from outside.
inline bool may_hold_heap(const Mapping& mapping) {
  if (!mapping.readable) return false;
  return mapping.writable || (mapping.is_anonymous() && mapping.is_private && !mapping.executable &&
                              !mapping.path.starts_with("[v"));
}

}  // namespace heapattach::boehm
