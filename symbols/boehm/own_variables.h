#pragma once

#include <span>
#include <vector>

#include "symbols/boehm/collector.h"
#include "symbols/elf/module.h"

namespace heapattach::boehm {

// The collector's own variables, in a program or library that contains the collector. The
// collector's object files are linked one after another, so in initialised data and in zeroed data
// all of its variables are next to each other, also those whose names say nothing, such as
// last_addr.0 in os_dep.c. Some of them contain addresses in the heap, but they never keep anything
// alive for the program.
//
// Returns the ranges between the first and the last variable that is known to be the collector's,
// sorted. Without symbols, returns each word that only the collector's code uses
// (collector_code.h).
[[nodiscard]] std::vector<Range> own_variables(const Modules& modules, const Collector& collector);

// The range from the first to the last of those variables that only the collector has. A variable
// whose name only begins with GC_ does not count: the program may have chosen that name.
[[nodiscard]] Range range_of_own(std::span<const Symbol> symbols);

}  // namespace heapattach::boehm
