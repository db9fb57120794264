#pragma once

#include "symbols/heap/kind.h"

namespace heapattach::ruby {

// The heap of Ruby's interpreter. A snapshot of it is a dump by the interpreter, or is read from
// the heap's pages.
inline constexpr heap::Kind kHeapKind{.name = "ruby",
                                      .key = "ruby",
                                      .owner = "the collector",
                                      .reachable = "live objects, with their buffers",
                                      .no_memory = "memory by use is not available for Ruby"};

}  // namespace heapattach::ruby
