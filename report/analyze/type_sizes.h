#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "report/analyze/walk.h"
#include "report/model/counts.h"

namespace heapattach::analyze {

// For each type, the bytes of its own objects and of everything that they reference, directly or
// not, with each object counted once per type. Only reachable objects count. `types` and `bytes`
// are indexed by Number.
[[nodiscard]] std::vector<std::uint64_t> transitive_bytes(
    const Walk& walk,
    std::span<const snapshot::TypeIndex> types,
    std::span<const std::uint64_t> bytes,
    std::size_t type_count);

// Adds to each row of `table` (the counts of `snapshot`, grouped by `by`) the bytes that its
// objects reference, directly or not, and the bytes that they retain. Each byte counts once per
// row, even if one object of the row dominates another. The snapshot must have its edges.
void add_sizes(const snapshot::Snapshot& snapshot,
               snapshot::CountBy by,
               snapshot::CountTable& table);

// The bytes that the objects of each row retain, by row name; 0 for rows without objects.
[[nodiscard]] std::vector<std::uint64_t> retained_by_rows(const snapshot::Snapshot& snapshot,
                                                          snapshot::CountBy by,
                                                          std::span<const std::string_view> rows);

// The bytes that the objects of the chosen types retain together. Bytes that one of them retains
// through another count once.
[[nodiscard]] std::uint64_t retained_by(const snapshot::Snapshot& snapshot,
                                        const std::vector<bool>& is_chosen);

}  // namespace heapattach::analyze
