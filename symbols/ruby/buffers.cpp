#include "symbols/ruby/buffers.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace heapattach::ruby {

Buffer buffer_of(const HeapCopy::Object& object, const ValueForm& form) {
  const Slot& slot = object.slot;
  const bool is_shared = slot.has(form.shared);
  switch (slot.kind()) {
    case Kind::String:
      return {slot.has(1) && !is_shared ? slot.words[3] : 0, "text", slot.words[2] + 1};
    case Kind::Array:
      return {slot.has(1) || is_shared ? 0 : slot.words[4], "elements", slot.words[2] * 8};
    case Kind::Object:
      return {slot.has(1) && !form.has_fields ? 0 : slot.words[form.is_wide ? 2 : 3], "variables"};
    case Kind::Struct: return {slot.words[3], "members"};
    case Kind::Bignum: return {slot.has(2) ? 0 : slot.words[3], "digits"};
    case Kind::Hash: return {form.hash_in_slot ? 0 : slot.words[2], "table"};
    case Kind::Data: return {slot.data(object.address, form), "structure"};
    default: return {};
  }
}

std::vector<Range> unwritten_parts(const heap::Heap& heap,
                                   const HeapCopy& copy,
                                   const ValueForm& form) {
  struct Part {
    std::uint32_t block = 0;
    std::uint64_t used = 0;
  };
  std::vector<Part> parts;
  copy.for_each([&](const HeapCopy::Object& object) {
    const Buffer buffer = buffer_of(object, form);
    if (buffer.at == 0) return;
    const auto ref = heap.object_at(buffer.at);
    if (!ref || !heap.is_chunk(ref->block)) return;
    const std::uint64_t bytes = heap.blocks()[ref->block].object_bytes;
    // While an object is being made, its length may be anything.
    parts.push_back({ref->block, std::min(buffer.used, bytes)});
  });
  // If several objects claim one allocation, the one that uses most of it counts.
  std::ranges::sort(parts, std::greater<>{},
                    [](const Part& part) { return std::tuple(~part.block, part.used); });
  const auto is_same = [](const Part& a, const Part& b) { return a.block == b.block; };
  parts.erase(std::unique(parts.begin(), parts.end(), is_same), parts.end());
  std::vector<Range> unwritten;
  for (const Part& part : parts) {
    const heap::Block& block = heap.blocks()[part.block];
    const std::uint64_t used = (part.used + 7) / 8 * 8;
    if (used < block.object_bytes) {
      unwritten.push_back({block.start + used, block.object_bytes - used});
    }
  }
  return unwritten;
}

}  // namespace heapattach::ruby
