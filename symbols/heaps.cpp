#include "symbols/heaps.h"

#include <array>

#include "symbols/boehm/source.h"
#include "symbols/malloc/source.h"

namespace heapattach {

std::span<const heap::Kind* const> heap_kinds() {
  static const boehm::Kind collector;
  static const glibc::Kind malloc;
  static const std::array<const heap::Kind*, 2> kinds{&collector, &malloc};
  return kinds;
}

}  // namespace heapattach
