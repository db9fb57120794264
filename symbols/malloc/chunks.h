#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attach/base/flat_array.h"
#include "symbols/malloc/arenas.h"

// Walks the chunks of arenas (glibc's malloc.c and arena.c, 2.26 to 2.43). A chunk begins with two
// words: the size of the chunk before it, if that is free, and its own size with three flags. The
// program's memory begins after them, and ends after the first word of the next chunk.
//
// main_arena follows the program's data, from sbrk_base to the end of its top chunk. If the program
// moves the break itself, the part before ends with two fences, chunks of 16 bytes, and the next
// one begins after the program's memory. If the break cannot move, main_arena continues in mappings
// of its own. Every other arena consists of heaps: aligned mappings, linked by a header.
namespace heapattach::glibc {

enum class ChunkState : std::uint8_t {
  InUse,
  Mapped,  // in use, in a mapping of its own
  Free,    // in a bin
  Fast,    // in a fast bin
  Cached,  // in a thread's cache
  Cache,   // malloc's own: the table of a thread's cache
  Top,
  Fence,
};

struct Chunk {
  RemoteAddr at;  // of its header
  std::uint64_t bytes = 0;
  std::uint32_t arena = 0;  // index into Arenas::all
  ChunkState state = ChunkState::InUse;
  // The bytes between a mapped chunk's end and its mapping's end. Since 2.43 they have room for
  // another header, so that the chunk ends like all others; before, there were none.
  std::uint8_t behind = 0;

  [[nodiscard]] RemoteAddr payload() const { return at + 16; }
  // The bytes that the program may use.
  [[nodiscard]] std::uint64_t usable() const {
    return state == ChunkState::Mapped && behind == 0 ? bytes - 16 : bytes - 8;
  }
};

using Chunks = FlatArray<Chunk>;

struct Walked {
  Chunks chunks;                      // sorted
  std::vector<Range> claimed;         // the memory of arenas, sorted
  std::vector<std::uint64_t> bytes;   // of each arena, to compare with its system_mem
  std::vector<std::string> problems;  // contradictions that were found
  std::vector<bool> is_broken;        // of each arena: it has one of the problems
};

// `anonymous` is the writable anonymous memory, sorted. No chunk begins in `foreign` (sorted,
// disjoint), such as memory for which a collector moved the break.
Walked walk_arenas(const Words& words,
                   const Arenas& arenas,
                   const std::vector<Range>& anonymous,
                   std::span<const Range> foreign = {});

// Adds the mapped chunks outside the claimed memory.
void add_mapped(const Words& words, const std::vector<Range>& anonymous, Walked& walked);

// The index of the chunk whose header is at `at`; the number of chunks if there is none.
std::size_t find_chunk(const Chunks& chunks, RemoteAddr at);

}  // namespace heapattach::glibc
