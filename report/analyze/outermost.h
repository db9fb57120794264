#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "report/analyze/dominators.h"

namespace heapattach::analyze {

// For each object, whether it is reachable and no other object of its group dominates it. These
// objects together retain what the group retains, each byte counted once. `groups` is indexed by
// object.
[[nodiscard]] std::vector<bool> outermost_of_groups(const Dominators& dominators,
                                                    std::span<const snapshot::TypeIndex> groups,
                                                    std::size_t group_count);

}  // namespace heapattach::analyze
