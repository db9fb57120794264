#pragma once

#include <cstdint>
#include <vector>

#include "report/analyze/holding.h"
#include "report/model/model.h"

// The code of a program and its stacks, which a runtime keeps in its heap: in Ruby, classes,
// methods and their instructions, and 1 MiB for each thread. They are large in every program, and
// not a leak.
namespace heapattach::analyze {

// For each type, whether its objects are code or stacks.
[[nodiscard]] std::vector<bool> types_of_code(const snapshot::Snapshot& snapshot);

// The live bytes of code and stacks, including what only instructions retain, but not what the
// constants of a class or the variables of a thread hold.
[[nodiscard]] std::uint64_t code_bytes(const snapshot::Snapshot& snapshot, const Holding& holding);

}  // namespace heapattach::analyze
