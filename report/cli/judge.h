#pragma once

#include <cstdint>
#include <span>

#include "report/cli/console.h"
#include "report/cli/fail_if.h"
#include "report/snapshot/model.h"

namespace heapattach {

// The bytes that the objects of a condition's types retain together. The snapshot has its edges.
[[nodiscard]] std::int64_t retained_by(const FailIf& condition,
                                       const snapshot::Snapshot& snapshot,
                                       snapshot::CountBy by);

// Says of each condition that holds what it found; `measured` is by condition. Whether any holds.
[[nodiscard]] bool any_holds(std::span<const FailIf> conditions,
                             std::span<const std::int64_t> measured,
                             Console& console);

}  // namespace heapattach
