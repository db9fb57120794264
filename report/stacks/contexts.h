#pragma once

#include <span>
#include <string>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "symbols/crystal/fibers.h"

namespace heapattach::stacks {

// The names of execution contexts, from the fibers of their schedulers: "DEFAULT" from
// "DEFAULT-0:loop". Sorted, each once.
[[nodiscard]] std::vector<std::string> context_names(std::span<const std::string> fiber_names);

// The names of the fibers' contexts, in the order of the fibers; empty if none is found.
// `fiber_names` are in the same order.
[[nodiscard]] std::vector<std::string> contexts_of(std::span<const crystal::FiberStack> fibers,
                                                   std::span<const std::string> fiber_names,
                                                   std::uint64_t object_bytes,
                                                   const MemoryReader& memory);

}  // namespace heapattach::stacks
