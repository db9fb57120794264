#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "report/analyze/walk.h"

namespace heapattach::analyze {

// For each type, the bytes of its own objects and of everything that they reference, directly or
// not, with each object counted once per type. Only reachable objects count. `types` and `bytes`
// are indexed by Number.
[[nodiscard]] std::vector<std::uint64_t> transitive_bytes(
    const Walk& walk,
    std::span<const snapshot::TypeIndex> types,
    std::span<const std::uint64_t> bytes,
    std::size_t type_count);

}  // namespace heapattach::analyze
