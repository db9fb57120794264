#pragma once

#include <algorithm>
#include <cstdint>

#include "report/typing/type_rows.h"

namespace heapattach::snapshot {

// Decides which of an object's words may be pointers according to its layout. Borrows the layout.
class WordFilter {
 public:
  WordFilter(const RowLayout& layout, std::uint64_t object_bytes)
      : layout_(layout),
        next_(layout.words.begin()),
        next_of_element_(layout.element_words.begin()),
        element_(layout.elements_at) {
    if (layout.element_bytes == 0 || layout.elements_at > object_bytes) return;
    const std::uint64_t room = object_bytes - layout.elements_at;
    elements_end_ = layout.elements_at + room / layout.element_bytes * layout.element_bytes;
  }

  // Call it with ascending offsets, in bytes.
  bool admits(std::uint64_t offset) {
    if (!layout_.is_precise || offset >= layout_.known_to) return true;
    if (offset >= layout_.elements_at && offset < elements_end_) return admits_in_element(offset);
    while (next_ != layout_.words.end() && *next_ < offset) ++next_;
    return next_ != layout_.words.end() && *next_ == offset;
  }

 private:
  bool admits_in_element(std::uint64_t offset) {
    if (offset - element_ >= layout_.element_bytes) {
      element_ += (offset - element_) / layout_.element_bytes * layout_.element_bytes;
      next_of_element_ = layout_.element_words.begin();
    }
    const auto end = layout_.element_words.end();
    while (next_of_element_ != end && *next_of_element_ < offset - element_) ++next_of_element_;
    return next_of_element_ != end && *next_of_element_ == offset - element_;
  }

  const RowLayout& layout_;
  std::vector<std::uint64_t>::const_iterator next_;
  std::vector<std::uint64_t>::const_iterator next_of_element_;
  std::uint64_t element_;
  std::uint64_t elements_end_ = 0;
};

}  // namespace heapattach::snapshot
