#include <algorithm>
#include <cstring>

#include "attach/arch/addresses.h"
#include "symbols/boehm/blocks.h"
#include "symbols/boehm/heap.h"
#include "symbols/boehm/roots.h"
#include "symbols/heap/roots.h"

// Entries (finalize.c). A finalizer's entry is: hidden object · next · procedure · data · size of
// the object · mark procedure. In 8.3: hidden object · next · procedure · mark procedure · data ·
// size. A disappearing link's entry is: hidden link · next · hidden object. Hidden means
// complemented. Both are in chains from hash tables, which are objects too.

namespace heapattach::boehm {
namespace {

constexpr std::uint64_t kBitmapEntryBytes = 16;  // a bitmap, and whether it goes on

using What = CollectorObject::What;

class Finder {
 public:
  Finder(const heap::Heap& heap, const Capture& capture)
      : heap_(heap), capture_(capture), seen_(heap), rescued_(heap) {}

  CollectorObjects find(std::span<const Range> collector_data) {
    for (const Range& range : collector_data) {
      const auto bytes = capture_.bytes_from(range.start);
      const std::size_t size = std::min<std::size_t>(bytes.size(), range.bytes);
      for (std::size_t i = 0; i + 8 <= size; i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + i, sizeof word);
        const auto ref = heap_.object_at(word);
        if (ref && seen_.insert(heap_.number(*ref))) look_at(*ref);
      }
    }
    add_rescued();
    return std::move(found_);
  }

 private:
  void look_at(heap::ObjectRef ref) {
    std::optional<What> what;
    if (is_due(ref)) {
      what = What::Finalizer;
    } else if (is_descriptors(ref)) {
      what = What::Descriptors;
    } else {
      what = table(ref);
    }
    if (!what) return;
    found_.tables.push_back(ref);
    found_.own.push_back({ref, *what});
  }

  // Adds the objects that are referenced by objects with a disclaim procedure, dead or alive,
  // because the procedure may need them. Such an object differs from a free slot in the low bits of
  // its first word (GC_push_unconditionally in mark.c).
  void add_rescued() {
    for (std::uint32_t block = 0; block < heap_.blocks().size(); ++block) {
      const heap::Block& of = heap_.blocks()[block];
      if ((of.flags & kMarkUnconditionally) == 0 || of.descriptor == 0) continue;
      for (std::uint32_t slot = 0; slot < of.objects; ++slot) {
        if ((word({block, slot}, 0) & 3) == 0) continue;
        heap_.for_each_edge({block, slot}, [&](std::uint64_t, heap::ObjectRef held) {
          if (rescued_.insert(heap_.number(held))) found_.finalizable.push_back(held);
        });
      }
    }
  }

  [[nodiscard]] std::uint64_t word(heap::ObjectRef ref, std::uint64_t index) const {
    return heap_.word_at(ref, index * 8).value_or(0);
  }
  // The object that a finalizer's entry is for, if `address` points to its first word, which is
  // then revealed.
  [[nodiscard]] std::optional<heap::ObjectRef> finalized(heap::ObjectRef entry,
                                                         std::uint64_t address) const {
    const auto object = heap_.object_at(address);
    if (!object || word(entry, 2) == 0) return std::nullopt;
    const bool has_size =
        is_size_of(heap_, *object, word(entry, 4)) || is_size_of(heap_, *object, word(entry, 5));
    if (!has_size) return std::nullopt;
    return object;
  }
  [[nodiscard]] bool is_due(heap::ObjectRef entry) const {
    return finalized(entry, word(entry, 0)).has_value();
  }
  [[nodiscard]] bool is_link(heap::ObjectRef entry) const {
    return ~word(entry, 0) < kUsualAddressEnd && heap_.object_at(~word(entry, 2)).has_value();
  }

  // Whether an object is the table of long bitmaps that the marking rules have found. By size and
  // first words alone, an array of numbers could be taken for one.
  [[nodiscard]] bool is_descriptors(heap::ObjectRef ref) const {
    const auto& bitmaps = rules_of(heap_).bitmaps;
    const heap::Block& block = heap_.blocks()[ref.block];
    return !bitmaps.empty() && may_hold_bitmaps(block) &&
           bitmaps.size() == block.object_bytes / kBitmapEntryBytes && word(ref, 0) != 0 &&
           word(ref, 0) == bitmaps.front().bits && (word(ref, 1) & 0xffffffff) <= 1;
  }

  // The kind of table that an object is, if it is one.
  std::optional<What> table(heap::ObjectRef table) {
    std::optional<What> kind;
    heap_.for_each_word(table, [&](std::uint64_t, std::uint64_t head) {
      for (auto entry = heap_.object_at(head); entry && seen_.insert(heap_.number(*entry));
           entry = heap_.object_at(word(*entry, 1))) {
        const auto object = finalized(*entry, ~word(*entry, 0));
        if (object) {
          found_.finalizable.push_back(*object);
        } else if (!is_link(*entry)) {
          return;
        }
        found_.own.push_back({*entry, object ? What::Finalizer : What::Link});
        kind = object ? What::FinalizerTable : What::LinkTable;
      }
    });
    return kind;
  }

  const heap::Heap& heap_;
  const Capture& capture_;
  heap::ObjectSet seen_;
  heap::ObjectSet rescued_;
  CollectorObjects found_;
};

}  // namespace

CollectorObjects find_collector_objects(const heap::Heap& heap,
                                        const Capture& capture,
                                        std::span<const Range> collector_data) {
  return Finder(heap, capture).find(collector_data);
}

}  // namespace heapattach::boehm
