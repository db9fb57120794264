#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "symbols/malloc/chunks.h"

// Marks freed chunks that malloc keeps as if they were in use: those in fast bins and in threads'
// caches.
//
// Both are singly linked lists. Since 2.32 each link is combined by XOR with its own address,
// shifted by 12 bits ("safe-linking"). A thread's cache is a chunk with the number of chunks in
// each bin and the first chunk of each. It is recognised by lists of these lengths with chunks of
// the right sizes.
//
//     chunk    release       numbers                         bins
//     0x250    2.26, 2.27    one byte each                   64
//     0x290    2.30          two bytes each                  64
//     0x300    2.42          two bytes each, of free places  76, of which 12 are of large chunks
namespace heapattach::glibc {

struct CachesFound {
  std::size_t fast = 0;    // chunks in fast bins
  std::size_t cached = 0;  // chunks in caches
  std::size_t caches = 0;
  bool is_list_broken = false;   // a fast bin's list is not valid
  bool is_cache_broken = false;  // the first thread's cache is not valid
};

// `thread_pointers` are needed because an empty cache is recognised only by its thread's pointer to
// it.
CachesFound mark_caches(const Words& words,
                        const Arenas& arenas,
                        std::span<const RemoteAddr> thread_pointers,
                        Chunks& chunks);

}  // namespace heapattach::glibc
