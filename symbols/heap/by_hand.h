#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attach/process/memory_map.h"
#include "attach/stop/freeze.h"
#include "symbols/elf/module.h"
#include "symbols/heap/live_set.h"

// Finds the reachable allocations of heaps whose objects the program frees by hand, such as
// malloc's. Such heaps have no roots of their own: a program may keep a pointer anywhere. So all
// writable private memory is a root, except the heaps themselves and memory below a stack pointer;
// so are generated code, shared memory, and what the kernel keeps.
// An allocation that no root references, directly or not, is leaked.
namespace heapattach::heap {

// The mappings that may hold allocations or references to them: writable private memory, and
// private anonymous memory that is only readable now.
[[nodiscard]] bool may_hold_allocations(const Mapping& mapping);

// Whether mapping `i` is a small part of such memory that the program has taken all rights from, as
// it does with the lowest page of a coroutine's stack that malloc allocated.
[[nodiscard]] bool is_guard_within(std::span<const Mapping> all, std::size_t i);

// Code that the program made: addresses of allocations may begin at any byte of it.
bool is_generated_code(const Mapping& mapping);

// Memory of the program that is shared with other processes, or with itself at another address. It
// may hold references to allocations. Devices are not read.
bool is_shared_memory(const Mapping& mapping);

// The writable memory of the modules.
std::vector<Range> data_of(const Modules& modules);

// The memory whose words keep allocations alive: modules, stacks from 128 bytes below the stack
// pointer on, and all other memory, shared or not, except `own`, the memory of heaps.
// `constants` are parts of modules that are read-only since they were loaded. Only `touched`
// (sorted) has contents.
std::vector<RootRange> find_roots(std::span<const Range> own,
                                  const MemoryMap& map,
                                  std::span<const Range> constants,
                                  std::span<const Range> touched,
                                  std::span<const FrozenThread> threads);

// The words in the threads' registers, which are roots, too.
struct RootsOfThreads {
  std::vector<FrozenThread> stopped;
  std::vector<RootWords> words;       // within `stopped`, also after a move
  std::vector<std::string> problems;  // of threads whose registers are unknown
};
RootsOfThreads words_of(std::span<const FrozenThread> threads);

// Traces a heap all of whose objects are freed by hand. Those in `free` are never reachable.
LiveSet find_reachable(const Heap& heap,
                       const Capture& capture,
                       std::vector<RootRange> roots,
                       std::span<const FrozenThread> threads,
                       unsigned workers,
                       ObjectSet free);
inline LiveSet find_reachable(const Heap& heap,
                              const Capture& capture,
                              std::vector<RootRange> roots,
                              std::span<const FrozenThread> threads,
                              unsigned workers) {
  return find_reachable(heap, capture, std::move(roots), threads, workers, ObjectSet(heap));
}

}  // namespace heapattach::heap
