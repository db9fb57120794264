#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "attach/base/deadline.h"
#include "symbols/crystal/type_table.h"
#include "symbols/elf/module.h"
#include "symbols/unwind/stack_record.h"

namespace heapattach::snapshot {

// Labels classes without a name by the code that allocates their instances: "allocated in new,
// src/cart.cr:55". Does nothing if most classes have names, or if there is neither debug
// information nor symbols. Takes at most `time`, and at most a third of the time left until
// `deadline`.
void label_types(const Modules& modules,
                 std::chrono::milliseconds time,
                 const Deadline& deadline,
                 crystal::TypeTable& classes);

// The label of a class that is allocated at these locations, each of which is the list of functions
// inlined there.
[[nodiscard]] std::string label_of(const std::vector<std::vector<unwind::Place>>& made_at);

}  // namespace heapattach::snapshot
