#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attach/memory/capture.h"
#include "attach/process/memory_map.h"
#include "attach/stop/freeze.h"
#include "symbols/crystal/fibers.h"
#include "symbols/elf/module.h"
#include "symbols/heap/blocks.h"

// Finds the memory of a held target, besides its stacks, that shows what threads and fibers wait
// for.
namespace heapattach::stacks {

// The memory that the arguments of the threads' system calls point to.
[[nodiscard]] std::vector<Range> memory_of_calls(std::span<const FrozenThread> threads,
                                                 const Modules& modules);

// The memory that the words of Fiber objects point to.
struct FiberWords {
  std::vector<std::uint64_t> in_heap;
  std::vector<Range> timers;  // libevent's, outside the heap
};
// `capture` must contain the objects.
[[nodiscard]] FiberWords words_of(std::span<const crystal::FiberStack> fibers,
                                  std::uint64_t fiber_bytes,
                                  const heap::BlockIndex& index,
                                  const MemoryMap& map,
                                  const Capture& capture);

// The range from the first to the last object of the heap.
[[nodiscard]] Range span_of(const heap::BlockIndex& index);

}  // namespace heapattach::stacks
