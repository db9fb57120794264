// The list of symbols/heaps.cpp with one line more.
#include <array>

#include "integration/arena/arena.h"
#include "symbols/boehm/source.h"
#include "symbols/heaps.h"
#include "symbols/malloc/source.h"
#include "symbols/musl/source.h"
#include "symbols/ruby/heap_kind.h"

namespace heapattach {

std::span<const heap::Kind* const> heap_kinds() {
  static constexpr std::array<const heap::Kind*, 5> kKinds{
      &boehm::kHeapKind, &ruby::kHeapKind, &arena::kHeapKind, &musl::kHeapKind, &glibc::kHeapKind};
  return kKinds;
}

}  // namespace heapattach
