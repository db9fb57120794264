#pragma once

#include "attach/process/memory_map.h"

namespace heapattach::heap {

// Whether a mapping may contain a heap or the collector's data about it. Such memory is writable,
// or is private anonymous memory that is temporarily write-protected: in incremental mode, the
// collector protects its heap page by page to detect writes (os_dep.c, GC_protect_heap). The
// kernel's own mappings, such as "[vvar]", cannot be read from outside.
inline bool may_hold_heap(const Mapping& mapping) {
  if (!mapping.readable) return false;
  return mapping.writable || (mapping.is_anonymous() && mapping.is_private && !mapping.executable &&
                              !mapping.path.starts_with("[v"));
}

}  // namespace heapattach::heap
