#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The heaps of a snapshot: how much each has, and what reports say about it.
namespace heapattach::snapshot {

// Properties of every heap of one kind. Reports ask for a property, never for the kind.
struct HeapKind {
  std::string_view name;   // Heap::name
  std::string_view key;    // in JSON and labels: "gc"
  std::string_view owner;  // "the collector"
  // Unreachable objects are freed by a collector. Otherwise they have leaked.
  bool is_collected = true;
  // Objects without a type are named by their size, "(48 bytes)".
  bool is_named_by_size = false;
  // The words for its parts: objects that are reachable and those that are not, the rest of what is
  // in use, and both of these if they are not told apart.
  std::string_view reachable;
  std::string_view unreachable;
  std::string_view rest;
  std::string_view not_reachable;
  std::string_view free;           // if it has no facts about its free bytes
  std::string_view unmapped = {};  // of the free bytes; empty: it returns none to the system
  std::string_view tip = {};       // how to see what else the process has allocated; may be empty
  // Why --summary has no memory by use.
  std::string_view no_memory =
      "a saved snapshot does not contain the process's memory mappings; run --summary on the "
      "process";
};

inline constexpr HeapKind kCollectorsHeap{
    .name = "bdwgc",
    .key = "gc",
    .owner = "the collector",
    .reachable = "live objects",
    .unreachable = "unreachable objects: the next collection frees them",
    .rest = "fragmented: free slots and ends of blocks in use",
    .not_reachable = "not reachable, or unused in blocks in use",
    .free = "free blocks",
    .unmapped = "free blocks returned to the system (unmapped)",
    // Libraries use malloc, even if the program does not.
    .tip = "--heap both shows glibc's malloc heap, too"};

inline constexpr HeapKind kRubysHeap{.name = "ruby",
                                     .key = "ruby",
                                     .owner = kCollectorsHeap.owner,
                                     .reachable = kCollectorsHeap.reachable,
                                     .unreachable = kCollectorsHeap.unreachable,
                                     .rest = kCollectorsHeap.rest,
                                     .not_reachable = kCollectorsHeap.not_reachable,
                                     .free = kCollectorsHeap.free,
                                     .unmapped = kCollectorsHeap.unmapped,
                                     .no_memory = "memory by use is not available for Ruby"};

inline constexpr HeapKind kMallocsHeap{
    .name = "malloc",
    .key = "malloc",
    .owner = "malloc",
    .is_collected = false,
    .is_named_by_size = true,
    .reachable = "reachable",
    .unreachable = "leaked: nothing reachable references it",
    .rest = "malloc's own headers and tables",
    .not_reachable = "leaked, or malloc's own headers and tables",
    .free = "free"};

inline constexpr std::array<const HeapKind*, 3> kHeapKinds{&kCollectorsHeap, &kRubysHeap,
                                                           &kMallocsHeap};

// Any other name is that of a collector.
[[nodiscard]] constexpr const HeapKind& heap_kind(std::string_view name) {
  for (const HeapKind* kind : kHeapKinds) {
    if (kind->name == name) return *kind;
  }
  return kCollectorsHeap;
}

// "the collector's", "malloc's"
[[nodiscard]] inline std::string whose(const HeapKind& kind) {
  return std::string(kind.owner).append("'s");
}

// A number that only one kind of heap has.
struct HeapFact {
  std::string_view key;    // in JSON
  std::string_view words;  // if it is a part of the free bytes: which; otherwise empty
  std::uint64_t number = 0;
};

inline constexpr std::size_t kMostHeaps = 16;  // in one snapshot

struct Heap {
  std::string name{kCollectorsHeap.name};
  std::string version;
  std::string layout;  // "accessors", "debug info", "structure"
  std::optional<bool> collecting;
  std::optional<std::uint64_t> collections;
  std::optional<std::uint64_t> heap_bytes;
  std::optional<std::uint64_t> free_bytes;
  std::optional<std::uint64_t> unmapped_bytes;
  // Not in saved snapshots: more numbers, and a line about them for people.
  std::vector<HeapFact> facts;
  std::string remark;
  bool is_lossy = false;

  [[nodiscard]] const HeapKind& kind() const { return heap_kind(name); }
};

}  // namespace heapattach::snapshot
