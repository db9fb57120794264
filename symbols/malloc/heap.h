#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/process/memory_map.h"
#include "symbols/heap/blocks.h"
#include "symbols/malloc/caches.h"

// The heap of glibc's malloc, read from a copy of the process's writable memory. It needs no
// symbols, only the places of the modules' data.
//
// Every chunk that the program has not freed becomes a block with one object, and many blocks share
// a page (heap::Shape::shares_pages). So the code for a collector's heap works on this one, too.
namespace heapattach::glibc {

// malloc's own figures, as in mallinfo2() and malloc_info(); in bytes unless their names say
// otherwise.
struct ArenaAccount {
  RemoteAddr at;
  std::uint64_t system = 0;      // taken from the system
  std::uint64_t walked = 0;      // found in its memory; equal to `system` unless something is wrong
  std::uint64_t in_use = 0;      // chunks in use, with their headers
  std::uint64_t free = 0;        // in bins
  std::uint64_t free_pages = 0;  // whole pages of these, which malloc_trim(0) returns; in bytes
  std::uint64_t fast = 0;
  std::uint64_t cached = 0;
  std::uint64_t top = 0;
  std::uint64_t chunks_in_use = 0;
  std::uint64_t chunks_free = 0;
  std::uint64_t chunks_fast = 0;
};

struct Account {
  std::vector<ArenaAccount> arenas;  // the first is main_arena
  std::uint64_t mapped_chunks = 0;   // found
  std::uint64_t mapped_bytes = 0;
  std::uint64_t counted_mapped_chunks = 0;  // by malloc
  std::uint64_t counted_mapped_bytes = 0;
  // 2.43 miscounts the bytes by 16 whenever realloc() moves a mapped chunk.
  bool counts_drift = false;

  [[nodiscard]] std::uint64_t sum(std::uint64_t ArenaAccount::*part) const;
  [[nodiscard]] std::uint64_t heap_bytes() const;
  // All free bytes: in bins, in caches and at the top.
  [[nodiscard]] std::uint64_t free_bytes() const;
};

inline constexpr heap::Shape kShape{.shares_pages = true};

struct Heap {
  Account account;
  heap::BlockIndex index;      // a block for each chunk in use
  std::vector<Range> claimed;  // the memory of malloc, sorted: not a root
  std::vector<Range> states;   // main_arena, which is among other data: not a root either
  CachesFound caches;
  std::vector<std::string> problems;  // why the account does not add up; empty if it does
  std::vector<std::string> unread;    // other missing parts, which a second copy would also lack
};

// The memory to search.
struct Places {
  std::span<const Range> module_data;           // writable, sorted
  std::span<const Range> anonymous;             // writable, sorted
  std::span<const RemoteAddr> thread_pointers;  // of the threads
  std::span<const Range> touched{};  // the parts with contents, sorted; empty: everything
  std::span<const Range> foreign{};  // another heap's memory, sorted and disjoint
};

// Fails with Unsupported if the capture contains no such heap, or one that was never used.
Result<Heap> read_heap(const Capture& capture, const Places& places);

// Fails with Unsupported if read_heap() would find no heap. The process may be running.
Result<void> check_heap(const MemoryReader& memory, std::span<const Range> module_data);

}  // namespace heapattach::glibc
