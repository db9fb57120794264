#pragma once

#include <cstdint>

#include "attach/memory/memory_reader.h"

namespace heapattach::ruby {

// The offsets that the exported function rb_during_gc() uses to learn whether a collection is
// running. Both are 0 if its code is not recognised.
struct CollectorFlags {
  std::uint16_t object_space = 0;  // the offset of the object space's address in the machine
  std::uint16_t flags = 0;         // the offset of the flags in the object space
};
[[nodiscard]] CollectorFlags find_collector_flags(const MemoryReader& memory,
                                                  RemoteAddr rb_during_gc);

}  // namespace heapattach::ruby
