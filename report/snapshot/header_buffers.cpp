#include "report/snapshot/header_buffers.h"

#include "report/snapshot/block_ranges.h"

namespace heapattach::snapshot {

namespace {

class Buffers {
 public:
  Buffers(const boehm::Heap& heap,
          const ObjectOrder& order,
          const TypeRows& rows,
          std::span<const TypeIndex> row_of)
      : heap_(heap), order_(order), rows_(rows), row_of_(row_of) {}

  [[nodiscard]] boehm::ObjectSet pointed_to_except(const boehm::ObjectSet& excepted) const {
    boehm::ObjectSet buffers(heap_);
    for_block_ranges(heap_, [&](std::uint32_t first, std::uint32_t last) {
      boehm::for_each_object(heap_, order_.listed(), first, last, [&](boehm::ObjectRef ref) {
        const std::uint64_t number = heap_.number(ref);
        const auto pointers = rows_.buffer_pointers(row_of_[number]);
        if (pointers.empty() || excepted.contains(number)) return;
        for (const crystal::BufferPointer& pointer : pointers) add(ref, pointer, buffers);
      });
    });
    return buffers;
  }

 private:
  void add(boehm::ObjectRef ref,
           const crystal::BufferPointer& pointer,
           boehm::ObjectSet& buffers) const {
    const auto word = heap_.word_at(ref, pointer.offset);
    const auto buffer = word ? heap_.resolve(*word) : std::nullopt;
    if (!buffer) return;
    if (!pointer.may_be_inside && heap_.address(*buffer).value != *word) return;
    const std::uint64_t bytes = heap_.blocks()[buffer->block].object_bytes;
    if (pointer.only_if_array && !crystal::looks_like_array(heap_.contents(ref), bytes)) return;
    buffers.insert_shared(heap_.number(*buffer));
  }

  const boehm::Heap& heap_;
  const ObjectOrder& order_;
  const TypeRows& rows_;
  std::span<const TypeIndex> row_of_;
};

}  // namespace

boehm::ObjectSet find_buffers(const boehm::Heap& heap,
                              const ObjectOrder& order,
                              const TypeRows& rows,
                              std::span<const TypeIndex> row_of) {
  const Buffers buffers(heap, order, rows, row_of);
  const boehm::ObjectSet nothing(heap);
  // Once more without the holders that turned out to be buffers. A false holder that only another
  // false one refutes would need a third round; two of them in a row were never seen.
  return buffers.pointed_to_except(buffers.pointed_to_except(nothing));
}

}  // namespace heapattach::snapshot
