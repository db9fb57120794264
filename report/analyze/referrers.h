#pragma once

#include <cstdint>
#include <span>

#include "attach/base/flat_array.h"
#include "report/analyze/graph.h"

namespace heapattach::analyze {

// A reversed edge: the object that contains the reference, and its word.
struct Referrer {
  ObjectIndex from = 0;
  std::uint32_t word = 0;  // Edge::offset_words
};

// All edges, reversed. Owns its data: eight bytes for each edge and each object.
class Referrers {
 public:
  explicit Referrers(const Graph& graph);

  // Ordered by the referencing object, then by its word.
  [[nodiscard]] std::span<const Referrer> of(ObjectIndex object) const {
    return std::span<const Referrer>(referrers_)
        .subspan(first_[object], first_[object + 1] - first_[object]);
  }
  // The memory that of() reads first, to be fetched ahead.
  [[nodiscard]] const std::uint64_t* place_of(ObjectIndex object) const { return &first_[object]; }

 private:
  FlatArray<std::uint64_t> first_;  // by object, plus one for the end
  FlatArray<Referrer> referrers_;
};

}  // namespace heapattach::analyze
