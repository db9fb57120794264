#pragma once

#include <algorithm>
#include <iterator>

#include "report/model/model.h"

namespace heapattach::snapshot {

// The piece with the values of an object, if any are stored; otherwise null or a piece without any
// for it. ValuePiece::of() returns its values.
[[nodiscard]] inline const ValuePiece* piece_of(const Snapshot& snapshot, ObjectIndex object) {
  const auto after = std::upper_bound(
      snapshot.values.begin(), snapshot.values.end(), object,
      [](ObjectIndex at, const ValuePiece& piece) { return at < piece.first_object; });
  return after == snapshot.values.begin() ? nullptr : &*std::prev(after);
}

}  // namespace heapattach::snapshot
