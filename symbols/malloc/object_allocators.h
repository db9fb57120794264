#pragma once

#include <string_view>

#include "symbols/elf/module.h"

namespace heapattach::glibc {

// A language runtime or a server that has an allocator of its own for its objects, beside malloc.
struct ObjectAllocator {
  std::string_view name;
  std::string_view file;    // the start of the name of its program or library; empty: any
  std::string_view symbol;  // which only it defines; empty: the file's name is enough. With an
                            // underscore at its end it is the beginning of one.
  std::string_view where;   // a sentence: where its objects are
  std::string_view instead;
};

// Null if the process has none that is known.
[[nodiscard]] const ObjectAllocator* find_object_allocator(const Modules& modules);

}  // namespace heapattach::glibc
