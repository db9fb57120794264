#pragma once

#include <string>
#include <vector>

#include "attach/base/deadline.h"
#include "inject/trace/hooks.h"
#include "symbols/boehm/collector.h"
#include "symbols/elf/module.h"

namespace heapattach::trace {

// The functions to hook in a collector, found by analysing its code: those that allocate, and how
// they call each other.
struct FoundHooks {
  Hooks hooks;
  std::vector<RemoteAddr> total;   // variables whose sum is all bytes ever allocated; may be empty
  std::vector<std::string> notes;  // descriptions of what is not traced, and why
};

// Impossible if the functions have no symbols, or if the program must not be traced.
Result<FoundHooks> find_hooks(const Modules& modules,
                              const boehm::Collector& collector,
                              const MemoryReader& memory,
                              const Deadline& deadline = {});

}  // namespace heapattach::trace
