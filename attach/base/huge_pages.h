#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/mman.h>

#include "attach/base/page.h"

namespace heapattach {

// Asks the kernel to use huge pages for the untouched memory of a large array, where they fit: a
// page fault for each small page takes longer than filling it. Where huge pages are off, nothing
// changes.
inline void prefer_huge_pages(void* memory, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uint64_t page = page_bytes();
  const std::uint64_t first = (begin + page - 1) / page * page;
  const std::uint64_t end = (begin + bytes) / page * page;
  if (first >= end) return;
  madvise(static_cast<std::byte*>(memory) + (first - begin), end - first, MADV_HUGEPAGE);
}

}  // namespace heapattach
