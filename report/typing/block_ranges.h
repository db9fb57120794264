#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "report/parallel.h"
#include "symbols/boehm/heap.h"

namespace heapattach::snapshot {

inline constexpr std::uint32_t kBlocksAtATime = 256;

// Calls work(first, last) for groups of kBlocksAtATime of the heap's blocks, on all cores.
template <class Work>
void for_block_ranges(const boehm::Heap& heap, const Work& work) {
  const auto blocks = static_cast<std::uint32_t>(heap.blocks().size());
  const std::uint32_t pieces = (blocks + kBlocksAtATime - 1) / kBlocksAtATime;
  std::atomic<std::uint32_t> next = 0;
  run_workers(workers_for(pieces), [&](unsigned) {
    for (std::uint32_t piece = next++; piece < pieces; piece = next++) {
      const std::uint32_t first = piece * kBlocksAtATime;
      work(first, std::min(first + kBlocksAtATime, blocks));
    }
  });
}

}  // namespace heapattach::snapshot
