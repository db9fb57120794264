#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "symbols/heap/fact.h"
#include "symbols/heaps.h"

// The heaps of a snapshot: how much each has, and what reports say about it.
namespace heapattach::snapshot {

inline constexpr std::size_t kMostHeaps = 16;  // in one snapshot

struct Heap {
  std::string name{heap_kind().name};
  std::string version;
  std::string layout;  // "accessors", "debug info", "structure"
  std::optional<bool> collecting;
  std::optional<std::uint64_t> collections;
  std::optional<std::uint64_t> heap_bytes;
  std::optional<std::uint64_t> free_bytes;
  std::optional<std::uint64_t> unmapped_bytes;
  // The bytes of objects that nothing reachable references, for a heap that is not collected.
  std::optional<std::uint64_t> leaked_bytes;
  // More numbers, and a line about them for people. Saved snapshots have only what was not
  // searched.
  std::vector<heap::Fact> facts;
  std::string remark;
  bool is_lossy = false;

  [[nodiscard]] const heap::Kind& kind() const { return heap_kind(name); }
};

// Whether collectors manage all heaps, so that no object can leak.
[[nodiscard]] inline bool are_collected(const std::vector<Heap>& heaps) {
  return std::all_of(heaps.begin(), heaps.end(),
                     [](const Heap& heap) { return heap.kind().is_collected; });
}

}  // namespace heapattach::snapshot
