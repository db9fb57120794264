#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "report/model/counts.h"

namespace heapattach::analyze {

// Adds to each row of `table`, which counts `snapshot` by `by`, the bytes that its objects
// reference, directly or not, and the bytes that they retain. An object counts once per row, even
// if one object of the row dominates another. The snapshot must have its edges.
void add_sizes(const snapshot::Snapshot& snapshot,
               snapshot::CountBy by,
               snapshot::CountTable& table);

// The bytes that the objects of each row retain, by the rows' names; 0 for those without objects.
[[nodiscard]] std::vector<std::uint64_t> retained_by_rows(const snapshot::Snapshot& snapshot,
                                                          snapshot::CountBy by,
                                                          std::span<const std::string_view> rows);

// The bytes that the objects of some types retain together, chosen by their numbers; what one of
// them holds through another counts once.
[[nodiscard]] std::uint64_t retained_by(const snapshot::Snapshot& snapshot,
                                        const std::vector<bool>& is_chosen);

}  // namespace heapattach::analyze
