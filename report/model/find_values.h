#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

// Whether `is_it(piece, object)` is true for an object with values; calls it in the order of the
// objects, until it is.
template <class IsIt>
bool any_with_values(const Snapshot& snapshot, const IsIt& is_it) {
  for (const ValuePiece& piece : snapshot.values) {
    for (std::uint32_t i = 0; i + std::size_t{1} < piece.first_value.size(); ++i) {
      if (is_it(piece, piece.first_object + i)) return true;
    }
  }
  return false;
}

}  // namespace heapattach::snapshot
