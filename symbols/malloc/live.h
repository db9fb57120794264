#pragma once

#include <span>
#include <string>
#include <vector>

#include "attach/stop/freeze.h"
#include "symbols/boehm/live.h"
#include "symbols/heap/live_set.h"
#include "symbols/malloc/heap.h"

// What is reachable in a heap of malloc. malloc has no roots of its own: a program may keep a
// pointer anywhere. So all private memory that can be written is a root, except the memory of
// malloc itself, and what is below a stack pointer. An allocation that none of them leads to is
// leaked.
namespace heapattach::glibc {

// Sorts ranges, and makes one of those that touch.
std::vector<Range> joined(std::vector<Range> ranges);

// The words that keep allocations alive: of modules, of stacks from 128 bytes below the stack
// pointer on, and of all other memory, thread-local data included. `constants` are parts of modules
// that were written when they were loaded, and cannot be any more. Only `touched` (sorted) has
// contents.
std::vector<heap::RootRange> find_roots(const Heap& heap,
                                        const MemoryMap& map,
                                        std::span<const Range> constants,
                                        std::span<const Range> touched,
                                        std::span<const FrozenThread> threads);

// What the threads have in registers: roots, too.
struct RootsOfThreads {
  std::vector<FrozenThread> stopped;
  std::vector<heap::RootWords> words;  // within `stopped`, also after a move
  std::vector<std::string> problems;   // of threads whose registers are unknown
};
RootsOfThreads words_of(std::span<const FrozenThread> threads);

// Traces `heap`, whose blocks are those of `found`.
heap::LiveSet find_live(const heap::Heap& heap,
                        const Capture& capture,
                        std::vector<heap::RootRange> roots,
                        std::span<const FrozenThread> threads,
                        unsigned workers);

}  // namespace heapattach::glibc
