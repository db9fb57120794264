#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "attach/base/deadline.h"
#include "symbols/crystal/type_table.h"
#include "symbols/elf/module.h"
#include "symbols/unwind/stack_record.h"

namespace heapattach::snapshot {

// Labels classes without a name with the locations where their instances are allocated: "allocated
// in new, src/cart.cr:55". Does nothing if most classes have names, or without debug information
// and symbols. Takes at most `time`, and a third of what is left until `deadline`.
void label_types(const Modules& modules,
                 std::chrono::milliseconds time,
                 const Deadline& deadline,
                 crystal::TypeTable& classes);

// The label of a class that is allocated at these locations, each with the functions inlined there.
[[nodiscard]] std::string label_of(const std::vector<std::vector<unwind::Place>>& made_at);

}  // namespace heapattach::snapshot
