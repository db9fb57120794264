#pragma once

#include <cstdint>
#include <optional>

namespace heapattach::heap {

// The counters of a heap's owner; none where unknown.
struct Counters {
  std::optional<std::uint64_t> heap_bytes = {};  // used and free
  std::optional<std::uint64_t> free_bytes = {};  // mapped or not
  std::optional<std::uint64_t> unmapped_bytes = {};
  std::optional<std::uint64_t> collections = {};
  std::optional<bool> collecting = {};
  std::optional<std::uint64_t> allocated = {};  // bytes since the last collection
  std::optional<bool> incremental = {};
};

}  // namespace heapattach::heap
