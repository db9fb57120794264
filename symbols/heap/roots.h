#pragma once

#include <span>
#include <vector>

#include "attach/memory/capture.h"
#include "attach/process/memory_map.h"
#include "symbols/heap/mark.h"
#include "symbols/heap/root_range.h"

namespace heapattach::heap {

// The ranges to copy for `roots` and `more`: sorted, disjoint, whole words, readable, and outside
// `heap` (sorted, disjoint).
std::vector<Range> plan_copy(std::span<const RootRange> roots,
                             std::span<const Range> more,
                             std::span<const Range> heap,
                             const MemoryMap& map);

// The copied words of `roots`, each possibly in several pieces: the heap's blocks among them were
// copied separately.
std::vector<RootWords> root_words(std::span<const RootRange> roots, const Capture& capture);

// Calls visit(root, address, target) for each word of `roots` that points into an object.
template <class Visit>
void for_each_root(const Heap& heap,
                   const Capture& capture,
                   std::span<const RootRange> roots,
                   const Visit& visit) {
  for (const RootRange& root : roots) {
    for (const RootWords& words : root_words({&root, 1}, capture)) {
      for_each_word(words, [&](std::size_t offset, std::uint64_t word) {
        if (const auto to = heap.resolve(word, words.from)) visit(root, words.at + offset, *to);
      });
    }
  }
}

}  // namespace heapattach::heap
