#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "report/analyze/graph.h"
#include "report/analyze/root_quality.h"
#include "report/model/model.h"

namespace heapattach::analyze {

// The roots of a snapshot that say why something is alive, as numbers of Snapshot::roots.
struct TellingRoots {
  std::vector<std::uint32_t> numbers;  // by quality, the best first; of one, in their order
  // By quality, where in `numbers` those of it end.
  std::vector<std::size_t> quality_ends;
};

// The collector's own variables reference whatever it looked at last, tables of finalizers what has
// one, and leftover words whatever a call once used. Where a better root references the same, such
// a root says nothing, and would hide what retains it. All that the roots of the snapshot reach,
// these reach as well.
[[nodiscard]] TellingRoots telling_roots(const snapshot::Snapshot& snapshot);

// What these roots hold, in the same order.
[[nodiscard]] std::vector<ObjectIndex> objects_of(const snapshot::Snapshot& snapshot,
                                                  const std::vector<std::uint32_t>& roots);

}  // namespace heapattach::analyze
