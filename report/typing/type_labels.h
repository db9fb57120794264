#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "symbols/crystal/type_table.h"
#include "symbols/elf/module.h"
#include "symbols/unwind/stack_record.h"

namespace heapattach::snapshot {

// Says of classes without a name where their instances are made: "allocated in new,
// src/cart.cr:55". Does nothing where most classes have names. Without debug information and
// symbols nothing is said.
void label_types(const Modules& modules,
                 std::chrono::milliseconds time,
                 crystal::TypeTable& classes);

// What is said of a class that is made at these places, each with all that was inlined there.
[[nodiscard]] std::string label_of(const std::vector<std::vector<unwind::Place>>& made_at);

}  // namespace heapattach::snapshot
