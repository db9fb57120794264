#include "symbols/boehm/header.h"

#include <algorithm>
#include <cstring>

#include "attach/base/word.h"

namespace heapattach::boehm {

namespace {

std::uint64_t word_in(std::span<const std::byte> bytes, std::uint64_t offset) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

}  // namespace

std::uint64_t header_bytes(const Layout& layout) {
  const std::uint64_t end =
      std::max({layout.header_kind + 1, layout.header_flags + 1, layout.header_size + kWordBytes,
                layout.header_descriptor + kWordBytes});
  if (layout.word_headers) return std::max(end, layout.word_headers->map + kWordBytes);
  return std::max(end, layout.header_block + kWordBytes);
}

Header read_header(const Layout& layout, std::span<const std::byte> bytes) {
  Header header{.block = {},
                .object_bytes = word_in(bytes, layout.header_size),
                .descriptor = word_in(bytes, layout.header_descriptor),
                .kind = std::to_integer<std::uint8_t>(bytes[layout.header_kind]),
                .flags = std::to_integer<std::uint8_t>(bytes[layout.header_flags])};
  if (!layout.word_headers) {
    header.block = RemoteAddr{word_in(bytes, layout.header_block)};
    return header;
  }
  // Other flags than the first two are later ones. The size of a free block is in bytes.
  header.flags &= kIgnoreOffPage | kWasUnmapped;
  if (word_in(bytes, layout.word_headers->map) == layout.word_headers->free_map.value) {
    header.flags |= kFreeBlock;
  } else if (header.object_bytes >> 60 == 0) {
    header.object_bytes *= kWordBytes;
  }
  return header;
}

}  // namespace heapattach::boehm
