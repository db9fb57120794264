#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "report/analyze/graph.h"
#include "report/model/flat_array.h"

namespace heapattach::analyze {

// An edge from its end: which object references it, by which of its words.
struct Referrer {
  ObjectIndex from = 0;
  std::uint32_t word = 0;  // Edge::offset_words
};

// All edges, reversed. Owns its data, eight bytes per edge and object.
class Referrers {
 public:
  explicit Referrers(const Graph& graph);

  // In the order of the objects that contain them, and there of their words.
  [[nodiscard]] std::span<const Referrer> of(ObjectIndex object) const {
    return std::span<const Referrer>(referrers_)
        .subspan(first_[object], first_[object + 1] - first_[object]);
  }

 private:
  std::vector<std::uint64_t> first_;  // by object, plus one for the end
  snapshot::FlatArray<Referrer> referrers_;
};

}  // namespace heapattach::analyze
