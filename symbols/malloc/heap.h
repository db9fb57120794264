#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/process/memory_map.h"
#include "symbols/heap/blocks.h"
#include "symbols/malloc/caches.h"

// The heap of glibc's malloc, read from a copy of the process's writable memory: nothing is known
// before but where the modules have their data, so no symbols are needed.
//
// Every chunk that the program has not freed becomes a block of its own with one object, and many
// blocks share a page (heap::Shape::shares_pages). So all that works on a collector's heap works
// on this one.
namespace heapattach::glibc {

// The numbers of malloc's own account, in bytes unless they say otherwise. mallinfo2() and
// malloc_info() have the same.
struct ArenaAccount {
  RemoteAddr at;
  std::uint64_t system = 0;  // taken from the system
  std::uint64_t walked = 0;  // found; the same unless something is wrong
  std::uint64_t in_use = 0;  // chunks in use, with their headers
  std::uint64_t free = 0;    // in bins
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
  // Everything that is free, wherever.
  [[nodiscard]] std::uint64_t free_bytes() const;
};

inline constexpr heap::Shape kShape{.shares_pages = true};

struct Heap {
  Account account;
  heap::BlockIndex index;      // a block for each chunk in use
  std::vector<Range> claimed;  // the memory of malloc, sorted: not a root
  std::vector<Range> states;   // what else is not: main_arena itself, which lies among other data
  CachesFound caches;
  std::vector<std::string> problems;  // why the account does not add up; empty if it does
  std::vector<std::string> unread;    // other parts that are missing; another look would not help
};

// Where to search, and in what.
struct Places {
  std::span<const Range> module_data;           // writable, sorted
  std::span<const Range> anonymous;             // writable, sorted
  std::span<const RemoteAddr> thread_pointers;  // of the threads
  std::span<const Range> touched{};             // what has contents, sorted; empty: everything
  std::span<const Range> foreign{};             // another heap's memory, sorted and disjoint
};

// Unsupported if there is no heap of this kind in the capture, or it was never used.
Result<Heap> read_heap(const Capture& capture, const Places& places);

// Whether read_heap() would find a heap, of a process that runs meanwhile: Unsupported if not.
Result<void> check_heap(const MemoryReader& memory, std::span<const Range> module_data);

}  // namespace heapattach::glibc
