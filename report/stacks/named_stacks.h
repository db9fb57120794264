#pragma once

#include "report/stacks/stack_report.h"
#include "symbols/module.h"
#include "symbols/stack/stacks.h"

namespace heapattach::stacks {

// The frames of a stack with the names of their functions and modules.
[[nodiscard]] NamedStack named(const stack::StackRecord& record,
                               const stack::Stacks& stacks,
                               const Modules& modules);

// Fibers whose stacks stand at the same instructions. `records` are the fibers' stacks, null where
// there is none; such fibers are in a group without frames. Those on threads are in no group.
[[nodiscard]] std::vector<FiberGroup> group_fibers(
    const std::vector<FiberSeen>& fibers,
    const std::vector<const stack::StackRecord*>& records,
    const stack::Stacks& stacks,
    const Modules& modules);

}  // namespace heapattach::stacks
