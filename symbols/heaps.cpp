#include "symbols/heaps.h"

#include <array>

#include "symbols/boehm/source.h"
#include "symbols/malloc/source.h"
#include "symbols/musl/source.h"
#include "symbols/ruby/heap_kind.h"

namespace heapattach {

std::span<const heap::Kind* const> heap_kinds() {
  static constexpr std::array<const heap::Kind*, 4> kKinds{&boehm::kHeapKind, &ruby::kHeapKind,
                                                           &musl::kHeapKind, &glibc::kHeapKind};
  return kKinds;
}

}  // namespace heapattach
