#pragma once

#include <set>
#include <string>

#include "attach/memory/memory_reader.h"
#include "symbols/elf/module.h"

namespace heapattach::cxx {

// The names of the classes from which others are derived, by the type_info objects of these. While
// an object is constructed, it may look like one of its bases.
[[nodiscard]] std::set<std::string> base_classes(const Modules& modules,
                                                 const MemoryReader& memory);

}  // namespace heapattach::cxx
