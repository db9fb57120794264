#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "report/analyze/graph.h"
#include "report/analyze/referrers.h"
#include "report/model/model.h"

// The objects that can be inspected one by one in the page: those that retain most, and those on
// the paths that the page shows.
namespace heapattach {

struct InspectedObject {
  static constexpr std::size_t kMostReferrers = 12;
  static constexpr std::size_t kMostFields = 24;

  snapshot::ObjectIndex object = 0;
  std::uint64_t retained = 0;
  std::uint64_t referrer_count = 0;
  std::vector<analyze::Referrer> referrers;  // the first ones
  std::vector<std::uint32_t>
      roots;  // the first roots that reference it, as indices into Snapshot::roots
};

// Returns at most `most` objects: first `wanted`, then those that retain most. `retained` is
// indexed by object.
[[nodiscard]] std::vector<InspectedObject> inspect_objects(
    const snapshot::Snapshot& snapshot,
    std::span<const std::uint64_t> retained,
    std::vector<snapshot::ObjectIndex> wanted,
    std::size_t most);

}  // namespace heapattach
