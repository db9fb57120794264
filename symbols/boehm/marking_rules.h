#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "symbols/boehm/displacements.h"
#include "symbols/boehm/scanned_words.h"

namespace heapattach::boehm {

struct Block;
struct Collector;
class Heap;
class ObjectSet;

// The collector's marking rules that do not follow from the heap's blocks and the layout. Sources:
// obj_map.c, typd_mlc.c, gcj_mlc.c and mark.c (GC_mark_from, GC_push_all_stack) of 7.4 to 8.3.
struct MarkingRules {
  // If interior pointers are not recognised: the displacements from the start of an object at which
  // a word of the heap or of static data counts (GC_valid_offsets). None if unknown.
  std::optional<Displacements> displacements;

  // The numbers of the collector's own mark procedures, for objects and for arrays whose types do
  // not fit a one-word bitmap; none until the program has created a type.
  std::optional<std::uint64_t> typed_procedure;
  std::optional<std::uint64_t> array_procedure;
  std::vector<ExtendedBitmap> bitmaps;  // GC_ext_descriptors

  // Descriptors that objects reference and that were not captured, such as those in constant
  // tables; sorted by address.
  std::vector<std::pair<RemoteAddr, std::uint64_t>> outside;

  // A word on a stack counts wherever in an object it points, even past the first page of an object
  // that ignores such pointers, because the collector looks up the object's start first.
  bool finds_bases_from_stacks = false;

  // The words that a simple descriptor (a length, a bitmap, or the collector's procedure for long
  // bitmaps) makes the collector scan; none for other kinds of descriptors.
  [[nodiscard]] std::optional<WordPattern> pattern_of(std::uint64_t descriptor) const;
  // Whether the descriptor is that of an array, which follow_array() scans.
  [[nodiscard]] bool is_array(std::uint64_t descriptor) const;
  [[nodiscard]] std::optional<std::uint64_t> outside_word(RemoteAddr at) const;
};

// Tags of a mark descriptor, its low two bits (gc_mark.h).
inline constexpr std::uint64_t kDescriptorTags = 3;
enum DescriptorTag : std::uint64_t {
  kByLength = 0,
  kByBitmap = 1,
  kByProcedure = 2,
  kPerObject = 3
};
// A per-object descriptor is found through the object's first word if it is at least this far below
// zero (GC_INDIR_PER_OBJ_BIAS in gc_mark.h).
inline constexpr std::uint64_t kIndirectBias = 0x10;

// Reads the rules from captured memory, which includes `collector_data`; reads the rest from
// `outside`.
MarkingRules read_marking_rules(const Heap& heap,
                                const Collector& collector,
                                std::span<const Range> collector_data,
                                const MemoryReader& captured,
                                const MemoryReader& outside);

// Whether a block has no pointers and the size of a table of long bitmaps: 100 entries of 16 bytes,
// or 200, 400 and so on.
bool may_hold_bitmaps(const Block& block);

// Objects that were scanned in full because their descriptors could not be followed, usually
// because a procedure of the program marks them.
struct MarkedConservatively {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
};
MarkedConservatively count_guesses(const Heap& heap, const ObjectSet& live);

// Scans an array of typed elements as GC_array_mark_proc does: its last word points to a
// description of the elements. Returns false if that cannot be followed, or has more parts than fit
// on a mark stack, in which case the collector scans the whole array too.
bool follow_array(const Heap& heap, std::uint64_t description, ScannedWords& words);

}  // namespace heapattach::boehm
