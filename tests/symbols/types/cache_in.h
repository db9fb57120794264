#pragma once

#include "symbols/dwarf/type_cache.h"
#include "tests/support/temporary_directory.h"

namespace heapattach::types {

// Limits that let the cache keep every file.
inline constexpr TypeCacheLimits kEverything{.least_debug_bytes = 0};

inline TypeCache cache_in(const TemporaryDirectory& home, TypeCacheLimits limits = kEverything) {
  return TypeCache(home.file(""), {"heapattach"}, limits);
}

}  // namespace heapattach::types
