#pragma once

#include <compare>
#include <span>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "symbols/crystal/fibers.h"

namespace heapattach::crystal {

// A fiber in the list of all fibers.
struct ListedFiber {
  RemoteAddr object;
  RemoteAddr stack_bottom;  // its cold end, which is its highest address
  RemoteAddr name;          // of the String; 0 if it has none

  friend auto operator<=>(const ListedFiber&, const ListedFiber&) = default;
};

// The fibers of a running program, by following the links of the list from the first of `known`
// that is in it. The program may change the list meanwhile: then some may be missing, but no
// finished fiber is found that its neighbours do not know any more. Takes a microsecond or two for
// each.
std::vector<ListedFiber> listed_fibers(const FiberLayout& layout,
                                       std::span<const RemoteAddr> known,
                                       const MemoryReader& memory);

}  // namespace heapattach::crystal
