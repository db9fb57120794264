#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attach/base/remote_addr.h"
#include "symbols/boehm/layout.h"
#include "symbols/heap/blocks.h"

namespace heapattach::boehm {

// Flags in a block's header, which are also Block::flags.
enum HeaderFlag : std::uint8_t {
  kIgnoreOffPage = heap::kFirstPageOnly,
  kWasUnmapped = 2,
  kFreeBlock = 4,
  kHasDisclaim = 8,
  kMarkUnconditionally = 0x10,
  kLargeBlock = 0x20,
};

// The contents of a block's header, whatever form it has in the release. Nothing is checked.
struct Header {
  RemoteAddr block;  // the block's address, as the header has it; {} in a form without it
  std::uint64_t object_bytes = 0;
  std::uint64_t descriptor = 0;
  std::uint8_t kind = 0;
  std::uint8_t flags = 0;

  [[nodiscard]] bool is_free() const { return (flags & kFreeBlock) != 0; }
};

// The number of bytes from a header's start that read_header() needs.
[[nodiscard]] std::uint64_t header_bytes(const Layout& layout);

// Reads a header. `bytes` has at least header_bytes().
[[nodiscard]] Header read_header(const Layout& layout, std::span<const std::byte> bytes);

}  // namespace heapattach::boehm
