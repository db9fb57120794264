#pragma once

#include <cstddef>
#include <iterator>

#include "attach/base/near_search.h"
#include "attach/process/memory_map.h"

namespace heapattach {

// MemoryMap::find() for one of many addresses, each near the last one: `hint`, 0 at first, keeps
// the place.
inline const Mapping* find_near(const MemoryMap& map, RemoteAddr at, std::size_t& hint) {
  const auto begin = map.mappings().begin();
  const auto guess = begin + static_cast<std::ptrdiff_t>(std::min(hint, map.mappings().size()));
  const auto after =
      partition_point_near(begin, map.mappings().end(), guess,
                           [at](const Mapping& mapping) { return mapping.range.start <= at; });
  hint = static_cast<std::size_t>(after - begin);
  if (after == begin || !std::prev(after)->range.contains(at)) return nullptr;
  return &*std::prev(after);
}

}  // namespace heapattach
