#pragma once

#include <functional>

#include "attach/freeze.h"
#include "attach/memory_map.h"
#include "attach/memory_reader.h"

namespace heapattach::trace {

// Whether a stopped thread is, or will be when a signal handler on its stack returns, at an
// instruction within `hull` for which `is_in_question`. True if a thread's stack cannot be seen.
// Checks all words of the stacks, so a word that only looks like such an address counts too.
bool is_any_thread_at(const FrozenView& view,
                      const MemoryMap& map,
                      const MemoryReader& memory,
                      Range hull,
                      const std::function<bool(RemoteAddr)>& is_in_question);

}  // namespace heapattach::trace
