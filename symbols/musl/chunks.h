#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "symbols/malloc/words.h"

// Finds and walks the heap of musl's older malloc (until 1.2.0, and in later releases if they were
// configured with it), by its shape:
//
//   - 64 bins in the C library's data: a lock, the first and the last chunk. An empty bin points
//     to itself, as if it were a chunk. Before the bins is a word with a bit for each bin that has
//     a chunk.
//   - A chunk also has its size at its end, in the header of the next one. Each of the two words
//     has a bit that says whether the chunk is in use. Sizes are multiples of 32. The program's
//     memory begins after the header of 16 bytes, and ends with the chunk.
//   - Chunks are in segments: of the break, mapped, or donated by the loader. The first chunk of a
//     segment says that the chunk before it has no bytes and is in use, and the header after the
//     last chunk says that of the next one. A segment begins 16 bytes after the start of a page,
//     unless it was donated.
//   - A chunk with a mapping of its own is not marked as in use. Instead of a size before it, the
//     chunk has the distance from the mapping's start. Nothing counts such chunks.
namespace heapattach::musl {

enum class ChunkState : std::uint8_t { InUse, Free, Mapped };

struct Chunk {
  RemoteAddr at;  // of its header
  std::uint64_t bytes = 0;
  ChunkState state = ChunkState::InUse;

  [[nodiscard]] RemoteAddr payload() const { return at + 16; }
  [[nodiscard]] std::uint64_t usable() const { return bytes - 16; }
};

struct Chunks {
  std::vector<Chunk> all;      // sorted
  std::vector<Range> claimed;  // segments and mappings, sorted
  std::vector<std::string> problems;
  std::uint64_t segments = 0;
  std::uint64_t mapped_bytes = 0;  // of mappings
};

// The address of the first bin; none if there are no bins that were ever used. `threads` may each
// be changing a bin.
std::optional<RemoteAddr> find_bins(const glibc::Words& words,
                                    std::span<const Range> data,
                                    std::size_t threads);

inline constexpr std::uint64_t kBinsBytes = 64 * 24;

// `anonymous` is writable anonymous memory, sorted; `data` that of modules, around which the loader
// may have donated the rest of pages. `threads` may each be about to take or to return a chunk.
Chunks walk_chunks(const glibc::Words& words,
                   RemoteAddr bins,
                   std::span<const Range> anonymous,
                   std::span<const Range> data,
                   std::size_t threads);

}  // namespace heapattach::musl
