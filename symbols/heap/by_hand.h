#pragma once

#include <span>
#include <string>
#include <vector>

#include "attach/process/memory_map.h"
#include "attach/stop/freeze.h"
#include "symbols/heap/live_set.h"

// What is reachable in heaps whose objects the program frees by hand, such as malloc's. They have
// no roots of their own: a program may keep a pointer anywhere. So all private memory that can be
// written is a root, except the memory of the heaps themselves, and what is below a stack pointer.
// An allocation that no root references, directly or not, is leaked.
namespace heapattach::heap {

// The mappings that may hold allocations or references to them: writable private memory, and
// private anonymous memory that is only readable at present.
[[nodiscard]] bool may_hold_allocations(const Mapping& mapping);

// The words that keep allocations alive: of modules, of stacks from 128 bytes below the stack
// pointer on, and of all other memory, thread-local data included, except `own`, the memory of
// heaps. `constants` are parts of modules that were written when they were loaded, and cannot be
// any more. Only `touched` (sorted) has contents.
std::vector<RootRange> find_roots(std::span<const Range> own,
                                  const MemoryMap& map,
                                  std::span<const Range> constants,
                                  std::span<const Range> touched,
                                  std::span<const FrozenThread> threads);

// What the threads have in registers: roots, too.
struct RootsOfThreads {
  std::vector<FrozenThread> stopped;
  std::vector<RootWords> words;       // within `stopped`, also after a move
  std::vector<std::string> problems;  // of threads whose registers are unknown
};
RootsOfThreads words_of(std::span<const FrozenThread> threads);

// Traces a heap all of whose objects are freed by hand.
LiveSet find_reachable(const Heap& heap,
                       const Capture& capture,
                       std::vector<RootRange> roots,
                       std::span<const FrozenThread> threads,
                       unsigned workers);

}  // namespace heapattach::heap
