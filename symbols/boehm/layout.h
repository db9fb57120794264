#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attach/base/remote_addr.h"
#include "symbols/boehm/size_classes.h"
#include "symbols/heap/blocks.h"

namespace heapattach::boehm {

// The size of a block (HBLKSIZE) in the default configuration, whatever the page size is.
inline constexpr std::uint64_t kUsualBlockBytes = 4096;

// Headers in releases before 7, such as the release that Mono contains. They do not have the
// address of their block, and their sizes are in words. (Source: gc_priv.h, struct hblkhdr, of Mono
// 6.8.)
struct WordHeaders {
  std::uint64_t map = 0x20;  // the map of those offsets in the block to which pointers count
  RemoteAddr free_map;       // GC_invalid_map, the map of all free blocks
};

// The layout of the collector's data in this build, as far as we need it. All offsets are in bytes.
// A layout can come from any source, and is trusted only after check_layout().
struct Layout {
  enum class Source : std::uint8_t {
    Accessors,  // the machine code of the collector's accessor functions
    DebugInfo,
    Structure,  // found by its shape
  };
  Source source = Source::Accessors;

  // The two-level index from a block's address to its header.
  RemoteAddr top_index;     // the array itself, not the struct around it
  unsigned top_shift = 22;  // the index of an address is (address >> top_shift) & top_mask
  std::uint64_t top_mask = 0x7ff;
  RemoteAddr all_nils;  // the shared empty bottom index
  unsigned block_shift = 12;
  std::uint64_t bottom_mask = 0x3ff;
  std::uint64_t bottom_key = 0x2010;   // in a bottom index
  std::uint64_t bottom_next = 0x2018;  // the hash chain, in a bottom index
  bool has_hash_chain = true;          // false: an address is directly an index into the top index

  // In a block's header.
  std::uint64_t header_block = 0x10;
  std::uint64_t header_kind = 0x18;
  std::uint64_t header_flags = 0x19;
  std::uint64_t header_size = 0x20;
  std::uint64_t header_descriptor = 0x28;

  std::optional<WordHeaders> word_headers;

  bool all_interior_pointers = true;

  [[nodiscard]] std::uint64_t block_bytes() const { return std::uint64_t{1} << block_shift; }
  // The sizes of objects are multiples of this.
  [[nodiscard]] std::uint64_t granule_bytes() const { return word_headers ? 8 : 16; }
  [[nodiscard]] heap::Shape shape() const {
    return {.block_bytes = block_bytes(),
            .granule_bytes = granule_bytes(),
            .all_interior_pointers = all_interior_pointers,
            .sizes = kSlotSizes};
  }
};

}  // namespace heapattach::boehm
