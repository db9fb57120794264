#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "report/collect/join.h"

namespace heapattach::snapshot {

// How long the texts in the buffers of std::strings are. A buffer does not say so itself, and its
// text may hold a NUL: what points to it says so in its next word. That is believed only if the
// text of that length ends in a NUL. Buffers whose strings stand in no object (but in a global, or
// on a stack) have no length here.
class TextLengths {
 public:
  // `snapshot` has its objects and types.
  TextLengths(const JoinSources& from, const Snapshot& snapshot);

  // Of the object with this number in the heap.
  [[nodiscard]] std::optional<std::uint64_t> of(std::uint64_t number) const;

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> lengths_;  // by number, the longest last
};

}  // namespace heapattach::snapshot
