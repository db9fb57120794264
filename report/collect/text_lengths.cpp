#include "report/collect/text_lengths.h"

#include <algorithm>

#include "report/typing/block_ranges.h"

namespace heapattach::snapshot {

namespace {

using Length = std::pair<std::uint64_t, std::uint64_t>;

std::vector<bool> rows_of_buffers(const Snapshot& snapshot) {
  std::vector<bool> are_buffers;
  are_buffers.reserve(snapshot.types.size());
  for (const Type& type : snapshot.types) are_buffers.push_back(type.holder == "std::string");
  return are_buffers;
}

// Learns from an object's words about buffers whose beginnings they point to.
template <class IsBuffer>
void look_at(const heap::Heap& heap,
             heap::ObjectRef ref,
             const IsBuffer& is_buffer,
             std::vector<Length>& lengths) {
  heap.for_each_edge(ref, [&](std::uint64_t offset_words, heap::ObjectRef to) {
    if (heap.word_at(ref, offset_words * 8) != heap.address(to).value || !is_buffer(to)) return;
    const auto length = heap.word_at(ref, offset_words * 8 + 8);
    const auto text = heap.contents(to);
    if (!length || *length >= text.size() || text[*length] != std::byte{0}) return;
    lengths.emplace_back(heap.number(to), *length);
  });
}

}  // namespace

TextLengths::TextLengths(const JoinSources& from, const Snapshot& snapshot) {
  const std::vector<bool> are_buffers = rows_of_buffers(snapshot);
  if (std::find(are_buffers.begin(), are_buffers.end(), true) == are_buffers.end()) return;
  const heap::Heap& heap = from.heap;
  const auto is_buffer = [&](heap::ObjectRef ref) {
    const auto index = from.order.index_of(ref);
    return index && are_buffers[snapshot.objects[*index].type];
  };
  std::vector<std::vector<Length>> pieces(heap.blocks().size() / kBlocksAtATime + 1);
  for_block_ranges(heap, [&](std::uint32_t first, std::uint32_t last) {
    std::vector<Length>& lengths = pieces[first / kBlocksAtATime];
    heap::for_each_object(heap, from.order.listed(), first, last,
                          [&](heap::ObjectRef ref) { look_at(heap, ref, is_buffer, lengths); });
  });
  for (const std::vector<Length>& piece : pieces) {
    lengths_.insert(lengths_.end(), piece.begin(), piece.end());
  }
  std::sort(lengths_.begin(), lengths_.end());
}

std::optional<std::uint64_t> TextLengths::of(std::uint64_t number) const {
  const auto behind = std::partition_point(lengths_.begin(), lengths_.end(),
                                           [&](const Length& one) { return one.first <= number; });
  if (behind == lengths_.begin() || (behind - 1)->first != number) return std::nullopt;
  return (behind - 1)->second;
}

}  // namespace heapattach::snapshot
