#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "report/parallel.h"
#include "symbols/heap/heap.h"

namespace heapattach::snapshot {

inline constexpr std::uint32_t kBlocksAtATime = 256;

// The largest number of workers that for_block_ranges() uses for a heap.
inline unsigned workers_for_blocks(const heap::Heap& heap) {
  return workers_for((heap.blocks().size() + kBlocksAtATime - 1) / kBlocksAtATime,
                     heap.most_readers());
}

// Calls work(worker, first, last) for groups of kBlocksAtATime of the heap's blocks.
template <class Work>
void for_block_ranges(const heap::Heap& heap, unsigned workers, const Work& work) {
  const auto blocks = static_cast<std::uint32_t>(heap.blocks().size());
  const std::uint32_t pieces = (blocks + kBlocksAtATime - 1) / kBlocksAtATime;
  std::atomic<std::uint32_t> next = 0;
  run_workers(workers, [&](unsigned worker) {
    for (std::uint32_t piece = next++; piece < pieces; piece = next++) {
      const std::uint32_t first = piece * kBlocksAtATime;
      work(worker, first, std::min(first + kBlocksAtATime, blocks));
    }
  });
}

// Calls work(first, last) for such groups, with as many workers as are worthwhile.
template <class Work>
void for_block_ranges(const heap::Heap& heap, const Work& work) {
  for_block_ranges(heap, workers_for_blocks(heap),
                   [&](unsigned, std::uint32_t first, std::uint32_t last) { work(first, last); });
}

}  // namespace heapattach::snapshot
