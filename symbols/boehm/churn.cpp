#include "symbols/boehm/churn.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "symbols/boehm/heap.h"
#include "symbols/boehm/marking_rules.h"

namespace heapattach::boehm {
namespace {

constexpr std::uint64_t kEntryBytes = 48;
constexpr std::uint64_t kLargestEntry = 64;  // with a spare byte, rounded up to a size class

// The size of the largest objects on a thread's own lists (TINY_FREELISTS; NFREELISTS before
// release 7).
std::uint64_t largest_on_list(const heap::Shape& shape) {
  return (shape.granule_bytes == 8 ? 64 : 24) * shape.granule_bytes;
}

// Whether an object is the entry of a finalizer that has run. collector_objects.cpp describes its
// words.
bool has_run(const heap::Heap& heap, heap::ObjectRef entry) {
  const auto word = [&](std::uint64_t index) { return heap.word_at(entry, index * 8).value_or(1); };
  const auto object = heap.object_at(word(0));
  if (!object || word(1) != 0 || word(2) == 0) return false;
  return (word(3) == 0 && is_size_of(heap, *object, word(4))) ||
         (word(4) == 0 && is_size_of(heap, *object, word(5)));
}

// Collects the objects that are neither alive nor free, each once.
class Missing {
 public:
  Missing(const heap::Heap& heap, const heap::LiveSet& found)
      : heap_(heap), found_(found), seen_(heap) {}

  // Adds the objects that the words of an object reference.
  void add_words(heap::ObjectRef of) {
    for_each_word(
        of, [this](std::uint64_t word) { add(heap_.resolve(word, heap::Heap::From::Stack)); });
  }
  // Adds the object that a finalizer's entry, or a link's, references by its complement.
  void add_hidden(heap::ObjectRef of) {
    for_each_word(of, [this](std::uint64_t word) { add(heap_.object_at(~word)); });
  }
  [[nodiscard]] const std::vector<heap::ObjectRef>& objects() const { return objects_; }

 private:
  template <class Visit>
  void for_each_word(heap::ObjectRef of, const Visit& visit) const {
    const std::uint64_t bytes = heap_.blocks()[of.block].object_bytes;
    for (std::uint64_t offset = 0; offset < bytes; offset += sizeof(std::uint64_t)) {
      if (const auto word = heap_.word_at(of, offset)) visit(*word);
    }
  }

  void add(std::optional<heap::ObjectRef> object) {
    if (!object) return;
    const std::uint64_t number = heap_.number(*object);
    const bool is_known = found_.live.contains(number) || found_.free.contains(number);
    if (!is_known && seen_.insert(number)) objects_.push_back(*object);
  }

  const heap::Heap& heap_;
  const heap::LiveSet& found_;
  heap::ObjectSet seen_;
  std::vector<heap::ObjectRef> objects_;
};

std::vector<heap::ObjectRef> finished_entries(const heap::Heap& heap, const heap::LiveSet& found) {
  std::vector<heap::ObjectRef> entries;
  for (std::uint32_t block = 0; block < heap.blocks().size(); ++block) {
    const heap::Block& of = heap.blocks()[block];
    const bool may_have = of.kind == heap::kNormal && of.object_bytes >= kEntryBytes &&
                          of.object_bytes <= kLargestEntry;
    for (std::uint32_t slot = 0; may_have && slot < of.objects; ++slot) {
      const std::uint64_t number = heap.number({block, slot});
      if (found.live.contains(number) || found.free.contains(number)) continue;
      if (has_run(heap, {block, slot})) entries.push_back({block, slot});
    }
  }
  return entries;
}

}  // namespace

heap::ObjectSet dropped_since_collection(const heap::Heap& heap,
                                         const heap::LiveSet& found,
                                         std::span<const heap::RootWords> stale,
                                         unsigned workers) {
  heap::Marker marker(heap, found.free, workers);
  marker.trace(stale, finished_entries(heap, found));
  return std::move(marker).take_live();
}

bool has_plain_pointers(const heap::Heap& heap) {
  heap::ObjectSet all(heap);
  for (std::uint32_t block = 0; block < heap.blocks().size(); ++block) {
    for (std::uint32_t slot = 0; slot < heap.blocks()[block].objects; ++slot) {
      all.insert(heap.number({block, slot}));
    }
  }
  return count_guesses(heap, all).objects == 0;
}

heap::ObjectSet reachable_from(const heap::Heap& heap,
                               const heap::LiveSet& found,
                               std::span<const heap::RootWords> memory,
                               unsigned workers) {
  Missing missing(heap, found);
  for (std::uint32_t block = 0; block < heap.blocks().size(); ++block) {
    const heap::Block& of = heap.blocks()[block];
    for (std::uint32_t slot = 0; !of.is_atomic() && slot < of.objects; ++slot) {
      const heap::ObjectRef ref{block, slot};
      if (of.object_bytes <= kLargestEntry) missing.add_hidden(ref);
      const bool may_hold = of.is_uncollectable() || found.free.contains(heap.number(ref));
      if (may_hold) missing.add_words(ref);
    }
  }
  heap::Marker marker(heap, found.free, workers);
  marker.trace(memory, missing.objects());
  return std::move(marker).take_live();
}

std::uint64_t count_unexplained(const heap::Heap& heap,
                                const heap::LiveSet& found,
                                const heap::ObjectSet& dropped,
                                const heap::ObjectSet* possible) {
  const auto marks = MarkBits::find(heap);
  if (!marks) return 0;
  std::map<std::pair<std::uint8_t, std::uint64_t>, std::uint64_t> missing;  // by kind and size
  for (const heap::HeaderTail& tail : heap.index().tails) {
    const heap::Block& block = heap.blocks()[tail.block];
    if (block.is_uncollectable()) continue;
    for (std::uint32_t slot = 0; slot < block.objects; ++slot) {
      const std::uint64_t number = heap.number({tail.block, slot});
      const bool is_accounted_for = found.live.contains(number) || found.free.contains(number) ||
                                    dropped.contains(number) ||
                                    (possible != nullptr && !possible->contains(number));
      if (is_accounted_for || !marks->is_marked(tail, block, slot).value_or(false)) continue;
      ++missing[{block.kind, block.object_bytes}];
    }
  }
  const std::uint64_t threads = std::max<std::uint64_t>(1, found.known_threads);
  std::uint64_t unexplained = 0;
  for (const auto& [size, count] : missing) {
    const std::uint64_t bytes = size.second;
    const std::uint64_t on_lists =
        bytes <= largest_on_list(heap.shape()) ? threads * (heap.shape().block_bytes / bytes) : 0;
    unexplained += count - std::min(count, on_lists);
  }
  return unexplained;
}

}  // namespace heapattach::boehm
