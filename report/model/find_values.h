#pragma once

#include <algorithm>
#include <iterator>

#include "report/model/model.h"

namespace heapattach::snapshot {

// The piece that may contain the values of an object; null if there is none. ValuePiece::of()
// returns the values.
[[nodiscard]] inline const ValuePiece* piece_of(const Snapshot& snapshot, ObjectIndex object) {
  const auto after = std::upper_bound(
      snapshot.values.begin(), snapshot.values.end(), object,
      [](ObjectIndex at, const ValuePiece& piece) { return at < piece.first_object; });
  return after == snapshot.values.begin() ? nullptr : &*std::prev(after);
}

}  // namespace heapattach::snapshot
