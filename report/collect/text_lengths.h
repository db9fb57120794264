#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "report/collect/join.h"

namespace heapattach::snapshot {

// The lengths of the texts in std::string buffers. A buffer does not contain its length, and its
// text may contain a NUL, but the word after the pointer to the buffer has the length. It is used
// only if a text of that length ends in a NUL. Buffers whose strings are not in an object (but in a
// global, or on a stack) have no length here.
class TextLengths {
 public:
  // `snapshot` must have its objects and types.
  TextLengths(const JoinSources& from, const Snapshot& snapshot);

  // The length for the object with this number in the heap.
  [[nodiscard]] std::optional<std::uint64_t> of(std::uint64_t number) const;

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> lengths_;  // by number, longest last
};

}  // namespace heapattach::snapshot
