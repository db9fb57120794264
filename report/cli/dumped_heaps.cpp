#include "report/cli/dumped_heaps.h"

#include <array>

#include "report/ruby/take_ruby.h"

namespace heapattach {

std::span<const snapshot::DumpedHeap* const> dumped_heaps() {
  static constexpr std::array<const snapshot::DumpedHeap*, 1> kHeaps{&kDumpedByRuby};
  return kHeaps;
}

}  // namespace heapattach
