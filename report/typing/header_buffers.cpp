#include "report/typing/header_buffers.h"

#include <algorithm>

#include "report/typing/block_ranges.h"

namespace heapattach::snapshot {

namespace {

class Buffers {
 public:
  Buffers(const heap::Heap& heap,
          const ObjectOrder& order,
          const TypeRows& rows,
          std::span<const TypeIndex> row_of)
      : heap_(heap), order_(order), rows_(rows), row_of_(row_of) {}

  [[nodiscard]] heap::ObjectSet pointed_to_except(const heap::ObjectSet& excepted) const {
    heap::ObjectSet buffers(heap_);
    for_block_ranges(heap_, [&](std::uint32_t first, std::uint32_t last) {
      heap::for_each_object(heap_, order_.listed(), first, last, [&](heap::ObjectRef ref) {
        const std::uint64_t number = heap_.number(ref);
        const TypeIndex row = row_of_[number];
        const auto pointers = rows_.buffer_pointers(row);
        const bool has_unknown_fields = rows_.has_unknown_fields(row);
        if ((pointers.empty() && !has_unknown_fields) || excepted.contains(number)) return;
        for (const crystal::BufferPointer& pointer : pointers) add(ref, pointer, buffers);
        if (has_unknown_fields) add_closures(ref, buffers);
      });
    });
    return buffers;
  }

 private:
  void add(heap::ObjectRef ref,
           const crystal::BufferPointer& pointer,
           heap::ObjectSet& buffers) const {
    const auto word = heap_.word_at(ref, pointer.offset);
    const auto buffer = word ? heap_.resolve(*word) : std::nullopt;
    if (!buffer) return;
    if (!pointer.may_be_inside && heap_.address(*buffer).value != *word) return;
    const std::uint64_t bytes = heap_.blocks()[buffer->block].object_bytes;
    if (pointer.only_if_array && !crystal::looks_like_array(heap_.contents(ref), bytes)) return;
    buffers.insert_shared(heap_.number(*buffer));
  }

  // A Proc is two words: the address of its code, and the address of the closure's data.
  void add_closures(heap::ObjectRef ref, heap::ObjectSet& buffers) const {
    const std::uint64_t bytes = std::min<std::uint64_t>(heap_.contents(ref).size(), kMostLooked);
    for (std::uint64_t offset = 8; offset + 16 <= bytes; offset += 8) {
      const auto code = heap_.word_at(ref, offset);
      if (!code || !rows_.naming().is_code(*code)) continue;
      const auto word = heap_.word_at(ref, offset + 8);
      const auto data = word ? heap_.resolve(*word) : std::nullopt;
      if (data && heap_.address(*data).value == *word) {
        buffers.insert_shared(heap_.number(*data));
      }
    }
  }

  static constexpr std::uint64_t kMostLooked = 1024;  // of an instance

  const heap::Heap& heap_;
  const ObjectOrder& order_;
  const TypeRows& rows_;
  std::span<const TypeIndex> row_of_;
};

}  // namespace

heap::ObjectSet find_buffers(const heap::Heap& heap,
                             const ObjectOrder& order,
                             const TypeRows& rows,
                             std::span<const TypeIndex> row_of) {
  const Buffers buffers(heap, order, rows, row_of);
  const heap::ObjectSet nothing(heap);
  // Repeated without the holders that turned out to be buffers. A false holder that only another
  // false one refutes would need a third round; that was never seen.
  return buffers.pointed_to_except(buffers.pointed_to_except(nothing));
}

}  // namespace heapattach::snapshot
