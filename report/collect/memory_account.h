#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "attach/memory/resident.h"
#include "report/model/model.h"
#include "symbols/heap/object_allocators.h"

// Breaks down the memory of a process by use. Each resident page counts towards one use, so the
// uses add up to the kernel's own total, RSS.
namespace heapattach::snapshot {

enum class MemoryUse : std::uint8_t {
  BlocksInUse,   // blocks in use of the collector's heap
  FreeBlocks,    // free blocks of that heap
  ThreadStacks,  // stacks of threads
  FiberStacks,   // stacks of fibers
  Malloc,        // "[heap]"; if malloc's heap was read, all of it
  Files,         // programs, libraries, mapped files and shared memory
  Other,         // anonymous memory: the collector's tables, malloc's memory that was not read, …
};
inline constexpr std::size_t kMemoryUses = 7;

struct MemoryShare {
  std::uint64_t resident_bytes = 0;
  std::uint64_t mapped_bytes = 0;

  friend bool operator==(const MemoryShare&, const MemoryShare&) = default;
};

// One mapping, with its pages if only parts of it belong to a heap.
struct SeenMapping {
  ResidentMapping mapping;
  std::vector<PageState> pages;
  bool is_mallocs = false;  // the whole mapping is malloc's
};

struct SeenStack {
  RemoteAddr at;  // an address in the stack
  pid_t tid = 0;
  std::string thread;  // the thread's name
};

// Memory by use, at one moment.
struct SeenMemory {
  std::vector<SeenMapping> mappings;
  std::vector<Range> used;         // blocks of the heap, sorted, disjoint, of whole pages
  std::vector<Range> free;         // free blocks in the same form, without unmapped memory
  std::vector<RemoteAddr> stacks;  // an address in each stack of a thread
  std::vector<RemoteAddr> fibers;  // an address in each stack of a fiber; a thread may run on one
  std::vector<SeenStack> owners = {};  // the owners of threads' stacks
  std::vector<Range> malloc = {};      // malloc's memory, sorted, disjoint; empty: it was not read
  // The allocator of objects that the process has besides malloc; null if none is known.
  const heap::ObjectAllocator* objects_of = nullptr;
};

// Memory outside the heaps that were read. It is that of a file or of a thread's stack, or
// anonymous.
struct NamedMemory {
  std::string name;
  MemoryShare share;
};

struct MemoryAccount {
  std::array<MemoryShare, kMemoryUses> by_use;
  MemoryShare total;
  std::size_t thread_stacks = 0;
  std::size_t fiber_stacks = 0;
  bool has_all_of_malloc = false;
  std::vector<NamedMemory> largest{};  // outside the heaps, the most resident bytes first
  const heap::ObjectAllocator* objects_of = nullptr;

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
  // Bytes in used blocks that are in no object: free slots and unused ends of blocks.
  std::uint64_t fragmented = 0;
  std::uint64_t free = 0;      // free blocks, without the unmapped ones
  std::uint64_t unmapped = 0;  // free blocks that were returned to the system
  std::uint64_t heap = 0;
  bool fragmented_known = true;  // false: `unreachable` contains it
  bool has_totals = true;        // false: only `live` and `unreachable` are known
  std::vector<heap::Fact> facts{};
  std::string remark{};
};

// The contents of --summary. A snapshot does not have the process's memory.
struct MemorySummary {
  std::vector<std::optional<HeapAccount>> heaps;  // as Snapshot::heaps; nothing: unknown numbers
  std::optional<MemoryAccount> memory;
};

}  // namespace heapattach::snapshot
