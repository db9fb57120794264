#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <vector>

#include "symbols/boehm/kinds.h"
#include "symbols/boehm/mark_bits.h"
#include "symbols/boehm/marking_rules.h"

namespace heapattach::boehm {
namespace {

class FreeListWalker {
 public:
  FreeListWalker(const heap::Heap& heap, const Capture& capture)
      : heap_(heap), capture_(capture), free_(heap) {}

  // The kinds themselves say where their lists are.
  void walk_kinds(std::span<const ObjectKind> kinds) {
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      const Heads heads = heads_at(kinds[kind].free_lists);
      for (std::size_t g = 0; g < heads.size(); ++g) {
        const auto ref = heap_.object_at(heads[g]);
        if (ref && fits(*ref, g) && heap_.blocks()[ref->block].kind == kind) walk(heads[g]);
      }
    }
  }

  void walk_data(std::span<const Range> collector_data) {
    std::unordered_set<std::uint64_t> seen;
    for (const Range& range : collector_data) {
      const auto bytes = capture_.bytes_from(range.start);
      const std::size_t size = std::min<std::size_t>(bytes.size(), range.bytes);
      for (std::size_t i = 0; i + 8 <= size; i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + i, sizeof word);
        if (word % 8 != 0 || word == 0 || !seen.insert(word).second) continue;
        const Heads heads = heads_at({word});
        if (!are_lists(heads)) continue;
        for (const std::uint64_t head : heads) walk(head);
      }
    }
  }

  void walk(std::uint64_t head) {
    auto at = heap_.object_at(head);
    if (!at) return;
    const heap::Block& first = heap_.blocks()[at->block];
    while (at) {
      const heap::Block& block = heap_.blocks()[at->block];
      if (block.object_bytes != first.object_bytes || block.kind != first.kind) return;
      if (!free_.insert(heap_.number(*at))) return;
      at = heap_.object_at(heap_.word_at(*at, 0).value_or(0));
    }
  }

  heap::ObjectSet take() && { return std::move(free_); }

 private:
  using Heads = std::vector<std::uint64_t>;

  // Empty if the array was not copied.
  [[nodiscard]] Heads heads_at(RemoteAddr at) const {
    const auto bytes = capture_.bytes_from(at);
    Heads heads;
    const std::size_t lists = lists_of_kind(heap_.shape());
    if (bytes.size() < lists * 8) return heads;
    heads.resize(lists);
    std::memcpy(heads.data(), bytes.data(), lists * 8);
    return heads;
  }

  // Whether an object can be on list number g of its kind.
  [[nodiscard]] bool fits(heap::ObjectRef ref, std::size_t g) const {
    return heap_.blocks()[ref.block].object_bytes ==
           std::max<std::size_t>(g, 1) * heap_.shape().granule_bytes;
  }

  // Whether these heads can only be free lists, all of one kind. A kind's blocks that wait to be
  // swept are in an array of the same form, but its words are the starts of blocks, whose first
  // objects may be alive.
  [[nodiscard]] bool are_lists(const Heads& heads) const {
    std::optional<std::uint8_t> kind;
    bool may_be_blocks = true;
    for (std::size_t g = 0; g < heads.size(); ++g) {
      if (heads[g] == 0) continue;
      const auto ref = heap_.object_at(heads[g]);
      if (!ref || !fits(*ref, g)) return false;
      const heap::Block& block = heap_.blocks()[ref->block];
      if (kind.value_or(block.kind) != block.kind) return false;
      kind = block.kind;
      may_be_blocks = may_be_blocks && ref->slot == 0;
    }
    return !may_be_blocks;
  }

  const heap::Heap& heap_;
  const Capture& capture_;
  heap::ObjectSet free_;
};

// Whether a slot looks swept by the collector or explicitly freed.
bool looks_free(const heap::Heap& heap, heap::ObjectRef ref) {
  const heap::Block& block = heap.blocks()[ref.block];
  if (block.objects == 1) return false;  // a free large object is a free block
  const auto bytes = heap.contents(ref);
  if (bytes.size() < 8) return false;
  const std::uint64_t link = heap.word_at(ref, 0).value_or(0);
  if (link != 0) {
    const auto next = heap.object_at(link);
    if (!next) return false;
    const heap::Block& other = heap.blocks()[next->block];
    if (other.object_bytes != block.object_bytes || other.kind != block.kind) return false;
  }
  // Objects without pointers keep their old contents; only the link counts then.
  if (block.is_atomic()) return link != 0;
  return std::all_of(bytes.begin() + 8, bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

heap::ObjectSet find_free_objects(const heap::Heap& heap,
                                  const Capture& capture,
                                  std::span<const ObjectKind> kinds,
                                  std::span<const Range> collector_data,
                                  std::span<const ThreadRecord> records) {
  FreeListWalker walker(heap, capture);
  if (kinds.empty()) {
    walker.walk_data(collector_data);
  } else {
    walker.walk_kinds(kinds);
  }
  for (const ThreadRecord& record : records) {
    for (const Range& head : record.list_heads) {
      if (const auto word = heap.captured_word(head.start)) walker.walk(*word);
    }
  }
  return std::move(walker).take();
}

heap::ObjectSet find_free_objects(const heap::Heap& heap,
                                  const Capture& capture,
                                  std::span<const Range> collector_data,
                                  std::span<const ThreadRecord> records) {
  return find_free_objects(heap, capture, {}, collector_data, records);
}

std::vector<heap::ObjectRef> uncollectable_objects(const heap::Heap& heap,
                                                   const heap::ObjectSet& free) {
  const auto marks = MarkBits::find(heap);
  std::vector<heap::ObjectRef> objects;
  for (const heap::HeaderTail& tail : heap.index().tails) {
    const heap::Block& block = heap.blocks()[tail.block];
    if (!block.is_uncollectable()) continue;
    for (std::uint32_t slot = 0; slot < block.objects; ++slot) {
      const heap::ObjectRef ref{tail.block, slot};
      if (free.contains(heap.number(ref))) continue;
      const bool is_used =
          marks ? marks->is_marked(tail, block, slot).value_or(true) : !looks_free(heap, ref);
      if (is_used) objects.push_back(ref);
    }
  }
  return objects;
}

bool MarkingRules::looks_free(const heap::Heap& heap, heap::ObjectRef ref) const {
  return boehm::looks_free(heap, ref);
}

}  // namespace heapattach::boehm
