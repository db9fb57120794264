#include "symbols/heaps.h"

#include <array>

#include "symbols/boehm/source.h"
#include "symbols/malloc/source.h"
#include "symbols/musl/source.h"
#include "symbols/ruby/source.h"

namespace heapattach {

std::span<const heap::Kind* const> heap_kinds() {
  static constexpr std::array<const heap::Kind*, 5> kKinds{
      &boehm::kHeapKind, &ruby::kHeapKind, &ruby::kSlotsKind, &musl::kHeapKind, &glibc::kHeapKind};
  return kKinds;
}

}  // namespace heapattach
