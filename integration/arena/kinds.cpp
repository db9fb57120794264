// The list of symbols/heaps.cpp with one line more.
#include <array>

#include "integration/arena/arena.h"
#include "symbols/boehm/source.h"
#include "symbols/heaps.h"
#include "symbols/malloc/source.h"
#include "symbols/musl/source.h"
#include "symbols/ruby/source.h"

namespace heapattach {

std::span<const heap::Kind* const> heap_kinds() {
  static constexpr std::array<const heap::Kind*, 6> kKinds{&boehm::kHeapKind, &ruby::kHeapKind,
                                                           &ruby::kSlotsKind, &arena::kHeapKind,
                                                           &musl::kHeapKind,  &glibc::kHeapKind};
  return kKinds;
}

}  // namespace heapattach
