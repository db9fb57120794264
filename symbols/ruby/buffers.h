#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "symbols/heap/heap.h"
#include "symbols/ruby/heap_pages.h"

namespace heapattach::ruby {

// The allocation of malloc that belongs to an object alone.
struct Buffer {
  std::uint64_t at = 0;                    // 0 if it has none, or shares it with others
  std::string_view what;                   // "text"; a literal
  std::uint64_t used = ~std::uint64_t{0};  // bytes that have been written, if Ruby knows
};

[[nodiscard]] Buffer buffer_of(const HeapCopy::Object& object, const ValueForm& form);

// The ends of allocations, after the text of a String or the elements of an Array. Ruby does not
// clear memory, so the words there are left over from earlier allocations. Sorted, disjoint.
[[nodiscard]] std::vector<Range> unwritten_parts(const heap::Heap& heap,
                                                 const HeapCopy& copy,
                                                 const ValueForm& form);

}  // namespace heapattach::ruby
