#pragma once

#include <set>
#include <string>

#include "attach/memory/memory_reader.h"
#include "symbols/elf/module.h"

namespace heapattach::cxx {

// The names of the classes from which other classes are derived, according to the type_info objects
// of the derived classes. While an object is constructed, it may look like one of its bases.
[[nodiscard]] std::set<std::string> base_classes(const Modules& modules,
                                                 const MemoryReader& memory);

}  // namespace heapattach::cxx
