#pragma once

#include <string>
#include <vector>

#include "inject/trace/hooks.h"
#include "symbols/boehm/collector.h"
#include "symbols/elf/module.h"

namespace heapattach::trace {

// Where to trace the allocations of a collector, from its own code: which functions allocate, and
// which of them lead to which others.
struct FoundHooks {
  Hooks hooks;
  std::vector<RemoteAddr> total;   // variables whose sum is all bytes ever allocated; may be empty
  std::vector<std::string> notes;  // what is not traced, and why
};

// Impossible if the functions have no names, or if the program must not be traced.
Result<FoundHooks> find_hooks(const Modules& modules,
                              const boehm::Collector& collector,
                              const MemoryReader& memory);

}  // namespace heapattach::trace
