#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "attach/base/result.h"

namespace heapattach::heap {

class Source;
struct Surroundings;

// One kind of heap: how it is found, and what reports say about every heap of this kind. They ask
// for a property, never for the kind. The defaults are those of a collector's heap.
struct Kind {
  std::string_view name;  // in snapshots: "bdwgc"
  // In JSON, in labels and as the value of --heap: "gc". A process has at most one kind with this
  // key.
  std::string_view key;
  std::string_view owner;  // "the collector"
  // Unreachable objects are freed by a collector. Otherwise the program frees its objects itself,
  // and those that are unreachable have leaked. All private memory is copied for such a heap, which
  // is found in the copy; by_hand.h says which of its objects are alive.
  bool is_collected = true;
  // Objects without a type are named by their size, "(48 bytes)".
  bool is_named_by_size = false;
  // The words for its parts: objects that are reachable and those that are not, the rest of what is
  // in use, and the sum of unreachable objects and the rest, if they cannot be distinguished.
  std::string_view reachable = "live objects";
  std::string_view unreachable = "unreachable objects: the next collection frees them";
  std::string_view rest = "fragmented: free slots and ends of blocks in use";
  std::string_view rest_key = "fragmented_bytes";  // in JSON
  std::string_view not_reachable = "not reachable, or unused in blocks in use";
  std::string_view free = "free blocks";  // if it has no facts about its free bytes
  // The words for free bytes that were returned to the system; empty if it returns none.
  std::string_view unmapped = "free blocks returned to the system (unmapped)";
  std::string_view tip = {};  // how to see what else the process has allocated; may be empty
  // Why --summary has no memory by use.
  std::string_view no_memory =
      "a saved snapshot does not contain the process's memory mappings; run --summary on the "
      "process";
  // Finds the heap of a target; Unsupported if it has none, or none that can be read. Null if heaps
  // of this kind are not read through a Source.
  Result<std::unique_ptr<Source>> (*find)(const Surroundings& target) = nullptr;
};

// "the collector's", "malloc's"
[[nodiscard]] inline std::string whose(const Kind& kind) {
  return std::string(kind.owner).append("'s");
}

}  // namespace heapattach::heap
