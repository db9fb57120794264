#pragma once

#include <cstdint>
#include <vector>

#include "report/analyze/holding.h"
#include "report/model/model.h"

// The code of a program, which a runtime keeps in its heap: in Ruby, classes, methods and their
// instructions. It is large in every program, and no leak.
namespace heapattach::analyze {

// By type, whether its objects are code.
[[nodiscard]] std::vector<bool> types_of_code(const snapshot::Snapshot& snapshot);

// The bytes of the code that is live, and of what nothing but instructions retains. What the
// constants of a class hold is not code.
[[nodiscard]] std::uint64_t code_bytes(const snapshot::Snapshot& snapshot, const Holding& holding);

}  // namespace heapattach::analyze
