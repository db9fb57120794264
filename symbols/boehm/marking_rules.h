#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "symbols/boehm/displacements.h"
#include "symbols/heap/live_set.h"
#include "symbols/heap/mark.h"

namespace heapattach::boehm {

struct Collector;

// The collector's marking rules that do not follow from the heap's blocks and the layout. Sources:
// obj_map.c, typd_mlc.c, gcj_mlc.c and mark.c (GC_mark_from, GC_push_all_stack) of 7.4 to 8.3.
struct MarkingRules final : heap::ScanRules {
  // The numbers of the collector's own mark procedures, for objects and for arrays whose types do
  // not fit into a bitmap of one word; nothing until the program has made a type.
  std::optional<std::uint64_t> typed_procedure;
  std::optional<std::uint64_t> array_procedure;
  std::vector<heap::ExtendedBitmap> bitmaps;  // GC_ext_descriptors

  // Descriptors that objects reference and that were not captured, such as those in constant
  // tables; sorted by address.
  std::vector<std::pair<RemoteAddr, std::uint64_t>> outside;

  void narrow(const heap::Heap& heap,
              heap::ObjectRef ref,
              heap::ScannedWords& words) const override;
  // True for an object with a disclaim procedure, which may free the objects that it references.
  [[nodiscard]] bool may_use_dead(const heap::Heap& heap, heap::ObjectRef ref) const override;
  // Whether a slot looks like a free object. A slot that was free before the last collection and
  // has not been swept since is on no list. Its first word is 0 or points to a slot of the same
  // kind, and the rest is 0 if the collector clears such objects. An object that was allocated and
  // dropped without being written to looks the same, and counts as free. Defined in
  // free_objects.cpp.
  [[nodiscard]] bool looks_free(const heap::Heap& heap, heap::ObjectRef ref) const override;
  // The words that the collector scans because of a simple descriptor (a length, a bitmap, or the
  // collector's procedure for long bitmaps); nothing for other kinds of descriptors.
  [[nodiscard]] std::optional<heap::WordPattern> pattern_of(std::uint64_t descriptor) const;
  // Whether the descriptor is one of arrays, which follow_array() scans.
  [[nodiscard]] bool is_array(std::uint64_t descriptor) const;
  [[nodiscard]] std::optional<std::uint64_t> outside_word(RemoteAddr at) const;
};

// The two low bits of a mark descriptor are its tag (gc_mark.h).
inline constexpr std::uint64_t kDescriptorTags = 3;
enum DescriptorTag : std::uint64_t {
  kByLength = 0,
  kByBitmap = 1,
  kByProcedure = 2,
  kPerObject = 3
};
// A per-object descriptor at least this far below zero means that the descriptor is found through
// the object's first word (GC_INDIR_PER_OBJ_BIAS in gc_mark.h).
inline constexpr std::uint64_t kIndirectBias = 0x10;

// Reads the rules from captured memory, which includes `collector_data`, and the rest from
// `outside`.
MarkingRules read_marking_rules(const heap::Heap& heap,
                                const Collector& collector,
                                std::span<const Range> collector_data,
                                const MemoryReader& captured,
                                const MemoryReader& outside);

// Whether a block has no pointers and the size of a table of long bitmaps: 100 entries of 16 bytes,
// or 200, 400 and so on.
bool may_hold_bitmaps(const heap::Block& block);

// The objects of `live` of which every word was scanned.
heap::MarkedConservatively count_guesses(const heap::Heap& heap, const heap::ObjectSet& live);

// Scans an array of typed elements as GC_array_mark_proc does: the array's last word points to a
// description of the elements. Returns false if the description cannot be followed, or if it has
// more parts than fit on a mark stack; in that case, the collector scans the whole array, too.
bool follow_array(const heap::Heap& heap, std::uint64_t description, heap::ScannedWords& words);

}  // namespace heapattach::boehm
