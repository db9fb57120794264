#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "symbols/boehm/collector.h"
#include "symbols/elf/module.h"

namespace heapattach::boehm {

// The functions and variables of a collector without symbols, which the code of the program around
// it shows.
struct CollectorCode {
  std::vector<Range> functions;  // sorted
  // Words of writable data that these functions use and no other code does; sorted.
  std::vector<RemoteAddr> variables;
  // All words of writable data that these functions use; sorted.
  std::vector<RemoteAddr> used;
  // The function that pushes the stacks of all threads as more roots, unless the program sets
  // another function (GC_default_push_other_roots).
  std::optional<RemoteAddr> default_hook;
};

// Returns nothing if the functions of the module or the collector's tables are unknown.
[[nodiscard]] std::optional<CollectorCode> find_collector_code(const Module& module,
                                                               const Collector& collector);

// Whether the program has replaced the collector's function for more roots
// (GC_set_push_other_roots): no variable of the collector references it then. False if that
// function is unknown.
[[nodiscard]] bool has_replaced_hook(const CollectorCode& code, const MemoryReader& memory);

}  // namespace heapattach::boehm
