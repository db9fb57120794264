#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "symbols/boehm/layout.h"

namespace heapattach::boehm {

// The collector's predefined object kinds; the program may add more.
enum : std::uint8_t {
  kAtomic = 0,
  kNormal = 1,
  kUncollectable = 2,
  kAtomicUncollectable = 3,
};

enum BlockFlag : std::uint8_t {
  kIgnoreOffPage = 1,
  kWasUnmapped = 2,
  kFreeBlock = 4,
  kHasDisclaim = 8,
  kMarkUnconditionally = 0x10,
  kLargeBlock = 0x20,
  kChunk = 0x40,  // not a collector's: one allocation of malloc, with others in its pages
};

// A block in use, or a run of blocks occupied by one large object.
struct Block {
  RemoteAddr start;
  std::uint64_t object_bytes = 0;  // the collector's size, slack included
  std::uint64_t descriptor = 0;
  std::uint32_t objects = 0;  // number of slots, in use or free
  std::uint8_t kind = kNormal;
  std::uint8_t flags = 0;

  [[nodiscard]] RemoteAddr object(std::uint32_t slot) const { return start + slot * object_bytes; }
  [[nodiscard]] bool is_atomic() const { return kind == kAtomic || kind == kAtomicUncollectable; }
  [[nodiscard]] bool is_uncollectable() const {
    return kind == kUncollectable || kind == kAtomicUncollectable;
  }
};

// An impossible entry of the index, which was skipped.
struct Misfit {
  RemoteAddr at;
  std::string what;
};

// The bytes of a block's header after the fields in Layout, including the mark bits. Kept for
// uncollectable blocks and a few others. Unreadable bytes are zero.
struct HeaderTail {
  static constexpr std::size_t kBytes = 288;  // enough for a count and 257 mark bytes

  std::uint32_t block = 0;                // index into BlockIndex::blocks
  std::array<std::byte, kBytes> bytes{};  // starts right after the descriptor
};

// The blocks of a heap, as listed in its index.
struct BlockIndex {
  std::vector<Block> blocks;         // in use, sorted by address, disjoint
  std::vector<HeaderTail> tails;     // sorted by block
  std::vector<Range> free;           // free blocks that are mapped, sorted
  std::vector<Range> headers;        // where the headers are, with the small gaps between them
  std::uint64_t used_bytes = 0;      // of whole blocks
  std::uint64_t free_bytes = 0;      // in free blocks, mapped or not
  std::uint64_t unmapped_bytes = 0;  // of these, given back to the system
  std::vector<Misfit> misfits;       // the first few; `skipped` counts all
  std::uint64_t skipped = 0;
};

// Walks the index in batches without trusting it: the amount of mapped memory limits the work, and
// each header must point to its block, be readable and be plausible. Fails only if no part of the
// index could be read.
Result<BlockIndex> read_blocks(const MemoryReader& memory,
                               const MemoryMap& map,
                               const Layout& layout);

}  // namespace heapattach::boehm
