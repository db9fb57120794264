#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "symbols/boehm/roots.h"
#include "symbols/heap/roots.h"

namespace heapattach::boehm {

// A kind of objects, as the collector's table describes it (struct obj_kind in gc_priv.h of 7.6
// to 8.3).
struct ObjectKind {
  RemoteAddr free_lists;         // lists_of_kind() words, each 0 or the first object of a list
  RemoteAddr unswept;            // as many words, each 0 or a block; may be 0
  std::uint64_t descriptor = 0;  // the template for the descriptors of its objects
};

// The number of lists of a kind: one for each size in granules, up to half a block (MAXOBJGRANULES
// + 1).
[[nodiscard]] constexpr std::size_t lists_of_kind(const heap::Shape& shape) {
  return shape.block_bytes / 2 / shape.granule_bytes + 1;
}
inline constexpr std::size_t kListsOfKind = lists_of_kind(heap::Shape());  // since release 7
inline constexpr std::size_t kFirstKinds = 4;  // the collector always has these

// The size of a kind's entry in `words`, which begin with the table: 4 to 6 words. An entry is
// shorter in a release without disclaim procedures, and flags were ints until 8.2. The first word
// of the entry of each of the first kinds points to an array of free lists, and all these arrays
// are in one variable of the collector. With a wrong size, some of these words would be 0 or a
// descriptor. Returns nothing if no size fits.
std::optional<std::size_t> words_of_kind(std::span<const std::uint64_t> words);

// The kinds in a table (Collector::kinds), by their numbers. Empty if no size of entries fits it.
std::vector<ObjectKind> read_kinds(const Range& table, const MemoryReader& memory);

// The objects on the free lists of these kinds and of threads. Without kinds, the lists are found
// in the collector's data by their contents (roots.h). An array is left out if all of its objects
// begin blocks, because it may be the array of a kind's blocks that wait to be swept.
heap::ObjectSet find_free_objects(const heap::Heap& heap,
                                  const Capture& capture,
                                  std::span<const ObjectKind> kinds,
                                  std::span<const Range> collector_data,
                                  std::span<const ThreadRecord> records);

}  // namespace heapattach::boehm
