#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "report/analyze/dominators.h"

namespace heapattach::analyze {

// By object whether it is reachable and no other object of its group dominates it. What these
// objects of a group retain is what the group retains, each byte once. `groups` are by object.
[[nodiscard]] std::vector<bool> outermost_of_groups(const Dominators& dominators,
                                                    std::span<const snapshot::TypeIndex> groups,
                                                    std::size_t group_count);

}  // namespace heapattach::analyze
