#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "symbols/heap/blocks.h"
#include "symbols/heap/source.h"

// The heap of musl's malloc, read from a copy of the process's writable memory: mallocng, since
// 1.2.1, or its predecessor. It needs no symbols, only the places of the modules' data.
//
// Every allocation that the program has not freed becomes a block with one object. mallocng keeps
// the size that the program asked for, which is the object's; malloc(0) counts as one byte.
namespace heapattach::musl {

// In bytes unless their names say otherwise.
struct Account {
  bool has_chunks = false;   // it is the older malloc's
  std::uint64_t heap = 0;    // taken from the system or from the loader
  std::uint64_t free = 0;    // slots or chunks that are not in use
  std::uint64_t parts = 0;   // number of groups of slots, or of segments of chunks
  std::uint64_t mapped = 0;  // number of allocations with a mapping of their own
  std::uint64_t mapped_bytes = 0;
};

inline constexpr heap::Shape kShape{.shares_pages = true};

struct Heap {
  Account account;
  heap::BlockIndex index;             // a block for each allocation
  std::vector<Range> own;             // the memory of malloc: not a root
  std::vector<std::string> problems;  // parts that do not fit
};

// The memory to search.
struct Places {
  std::span<const Range> module_data;  // writable, sorted
  std::span<const Range> anonymous;    // writable, sorted: for the older malloc
  std::size_t threads = 1;             // their number
  std::span<const Range> touched{};    // the parts with contents, sorted; empty: everything
};

// Fails with Unsupported if the capture contains no such heap, or one that was never used.
Result<Heap> read_heap(const Capture& capture, const Places& places);

// Whether read_heap() would find one. The process may be running.
bool has_heap(const MemoryReader& memory, std::span<const Range> module_data);

}  // namespace heapattach::musl
