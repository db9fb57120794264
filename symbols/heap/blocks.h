#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attach/base/remote_addr.h"

namespace heapattach::heap {

// The kinds of objects that every heap may have. A collector's program may add more.
enum : std::uint8_t {
  kAtomic = 0,  // without pointers
  kNormal = 1,
  kUncollectable = 2,  // alive until the program frees it
  kAtomicUncollectable = 3,
};

enum BlockFlag : std::uint8_t {
  kFirstPageOnly = 1,  // a word that points past its first page does not reference it
  kSharedEnd = 0x20,   // with kChunk: a word that points to its last word does not reference it
  kChunk = 0x40,       // one allocation of malloc, with others in its pages
};

// Memory in use: a row of slots for objects of one size, or one large object.
struct Block {
  RemoteAddr start;
  std::uint64_t object_bytes = 0;  // the size of a slot, slack included
  // The number of bytes scanned from the start of an object; or, with a bit of kSpecialDescriptor,
  // a value that only the heap's ScanRules understand.
  std::uint64_t descriptor = 0;
  std::uint32_t objects = 0;  // number of slots, in use or free
  std::uint8_t kind = kNormal;
  std::uint8_t flags = 0;  // BlockFlag, and the heap's own
  std::uint8_t heap = 0;   // of several heaps that were joined: its number

  [[nodiscard]] RemoteAddr object(std::uint32_t slot) const { return start + slot * object_bytes; }
  [[nodiscard]] bool is_atomic() const { return kind == kAtomic || kind == kAtomicUncollectable; }
  [[nodiscard]] bool is_uncollectable() const {
    return kind == kUncollectable || kind == kAtomicUncollectable;
  }
  [[nodiscard]] bool has_no_pointers() const { return is_atomic() || descriptor == 0; }
};
inline constexpr std::uint64_t kSpecialDescriptor = 3;

// An impossible entry of a heap's index, which was skipped.
struct Misfit {
  RemoteAddr at;
  std::string what;
};

// The bytes of a block's header that follow its description, including a collector's mark bits.
// Unreadable bytes are zero.
struct HeaderTail {
  static constexpr std::size_t kBytes = 288;  // enough for a count and 257 mark bytes

  std::uint32_t block = 0;                // index into BlockIndex::blocks
  std::array<std::byte, kBytes> bytes{};  // starts right after the descriptor
};

// Whether rounding and merged size classes can explain by how much a slot is larger than a request.
[[nodiscard]] constexpr bool is_slightly_larger(std::uint64_t slot_bytes, std::uint64_t bytes) {
  return slot_bytes >= bytes && slot_bytes - bytes <= 32 + bytes / 4;
}

// The slots that a heap uses for requests of each size.
struct SlotSizes {
  std::uint64_t smallest = 24;  // slot
  std::uint64_t spare = 0;      // bytes that are added to a request
  // Whether a slot of this size may have been requested with `bytes`.
  bool (*may_hold)(std::uint64_t slot_bytes, std::uint64_t bytes) = is_slightly_larger;
};

// The blocks of a heap.
struct BlockIndex {
  std::vector<Block> blocks;         // in use, sorted by address, disjoint
  std::vector<HeaderTail> tails;     // of uncollectable blocks and a few others, sorted by block
  std::vector<Range> free;           // free blocks that are mapped, sorted
  std::vector<Range> headers;        // where the headers are, with the small gaps between them
  std::uint64_t used_bytes = 0;      // of whole blocks
  std::uint64_t free_bytes = 0;      // in free blocks, mapped or not
  std::uint64_t unmapped_bytes = 0;  // of the free bytes, those that were given back to the system
  std::vector<Misfit> misfits;       // the first few; `skipped` counts all
  std::uint64_t skipped = 0;
  std::vector<SlotSizes> sizes;  // of joined heaps: those of each
};

// Chunks begin at multiples of this.
inline constexpr std::uint64_t kChunkGranule = 16;

// The rules for which addresses belong to a block and reference its objects.
struct Shape {
  std::uint64_t block_bytes = 4096;  // blocks begin at multiples of this, unless they share pages
  std::uint64_t granule_bytes = 16;  // slots of a collector have multiples of this
  bool all_interior_pointers = true;
  // Blocks with kChunk have one object each, and many may share a page. Without this, the flag has
  // no meaning.
  bool shares_pages = false;
  SlotSizes sizes = {};

  [[nodiscard]] bool is_chunk(const Block& block) const {
    return shares_pages && (block.flags & kChunk) != 0;
  }
  // The size of the memory that begins with the block and belongs to no other one.
  [[nodiscard]] std::uint64_t extent_bytes(const Block& block) const {
    if (is_chunk(block)) return block.object_bytes;
    if (block.objects > 1) return block_bytes;
    return (block.object_bytes + block_bytes - 1) & ~(block_bytes - 1);
  }
};

// The memory of objects outside `copied` (sorted, disjoint).
std::vector<Range> rest_of_contents(const BlockIndex& index, std::span<const Range> copied);

}  // namespace heapattach::heap
