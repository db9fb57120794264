#pragma once

#include <functional>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "attach/stop/freeze.h"

namespace heapattach::trace {

// Whether any stopped thread is at an address for which `is_in_question` is true, or could return
// to one. Returns true if a thread's stack cannot be read. Checks every word on the stacks, so a
// word that only looks like such an address counts, too.
bool is_any_thread_at(const FrozenView& view,
                      const MemoryMap& map,
                      const MemoryReader& memory,
                      Range hull,
                      const std::function<bool(RemoteAddr)>& is_in_question);

}  // namespace heapattach::trace
