#pragma once

#include <string_view>

#include "symbols/elf/module.h"

namespace heapattach::heap {

// A language runtime or a server that has an allocator of its own for its objects, besides malloc.
struct ObjectAllocator {
  std::string_view name;
  std::string_view file;  // the start of the name of its program or library; empty: any
  // A symbol that only it defines or, with an underscore at its end, the beginning of such symbols;
  // empty: the file's name is enough.
  std::string_view symbol;
  std::string_view where;  // a sentence: where its objects are
  std::string_view instead;
};

// The one that the process has; null if none is known.
[[nodiscard]] const ObjectAllocator* find_object_allocator(const Modules& modules);

}  // namespace heapattach::heap
