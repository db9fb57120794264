#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "report/analyze/graph.h"
#include "report/model/flat_array.h"

namespace heapattach::analyze {

// An edge from its end: which object leads here, by which of its words.
struct Referrer {
  ObjectIndex from = 0;
  std::uint32_t word = 0;  // Edge::offset_words
};

// Who leads to whom, the other way round. Owns what it holds, eight bytes an edge and an object.
class Referrers {
 public:
  explicit Referrers(const Graph& graph);

  // In the order of the objects that they stand in, and there in that of their words.
  [[nodiscard]] std::span<const Referrer> of(ObjectIndex object) const {
    return std::span<const Referrer>(referrers_)
        .subspan(first_[object], first_[object + 1] - first_[object]);
  }

 private:
  std::vector<std::uint64_t> first_;  // by object, and one more for the end
  snapshot::FlatArray<Referrer> referrers_;
};

}  // namespace heapattach::analyze
