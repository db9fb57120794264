#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attach/memory/resident.h"
#include "report/model/model.h"

// Breaks down the memory of a process by use. Each resident page counts towards one use, so the
// uses add up to the kernel's own total, RSS.
namespace heapattach::snapshot {

enum class MemoryUse : std::uint8_t {
  BlocksInUse,   // of the collector's heap
  FreeBlocks,    // its free blocks
  ThreadStacks,  // of threads
  FiberStacks,   // of fibers
  Malloc,        // the C library's first heap, "[heap]"
  Files,         // programs, libraries, mapped files and their shared memory
  Other,         // anonymous memory: the collector's tables, the C library's further heaps, …
};
inline constexpr std::size_t kMemoryUses = 7;

struct MemoryShare {
  std::uint64_t resident_bytes = 0;
  std::uint64_t mapped_bytes = 0;

  friend bool operator==(const MemoryShare&, const MemoryShare&) = default;
};

// One mapping, with its pages if it holds blocks of the heap.
struct SeenMapping {
  ResidentMapping mapping;
  std::vector<PageState> pages;
};

// Memory by use, at one moment.
struct SeenMemory {
  std::vector<SeenMapping> mappings;
  std::vector<Range> used;         // blocks of the heap, sorted, disjoint, of whole pages
  std::vector<Range> free;         // free blocks, likewise, without unmapped memory
  std::vector<RemoteAddr> stacks;  // an address in each stack of a thread
  std::vector<RemoteAddr> fibers;  // an address in each stack of a fiber; a thread may run on one
};

struct MemoryAccount {
  std::array<MemoryShare, kMemoryUses> by_use;
  MemoryShare total;
  std::size_t thread_stacks = 0;
  std::size_t fiber_stacks = 0;

  [[nodiscard]] const MemoryShare& of(MemoryUse use) const {
    return by_use[static_cast<std::size_t>(use)];
  }
};

[[nodiscard]] MemoryAccount account_for(const SeenMemory& seen);

// One heap, in bytes, from its own counters; all parts add up to `heap`.
struct HeapAccount {
  const heap::Kind* kind = &heap_kind();  // never null
  std::uint64_t live = 0;                 // objects that roots reference, directly or not
  std::uint64_t unreachable = 0;          // objects that nothing references any more
  std::uint64_t fragmented =
      0;  // in used blocks but not in an object: free slots and unused ends of blocks
  std::uint64_t free = 0;      // free blocks, without the unmapped ones
  std::uint64_t unmapped = 0;  // free blocks that were returned to the system
  std::uint64_t heap = 0;
  bool fragmented_known = true;  // otherwise it is in `unreachable`
  std::vector<heap::Fact> facts{};
  std::string remark{};
};

// The contents of --summary. For a snapshot, without the process's memory.
struct MemorySummary {
  std::vector<std::optional<HeapAccount>> heaps;  // as Snapshot::heaps; none: numbers are unknown
  std::optional<MemoryAccount> memory;
};

}  // namespace heapattach::snapshot
