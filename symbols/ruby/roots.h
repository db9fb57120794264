#pragma once

#include <string>
#include <vector>

#include "symbols/elf/module.h"
#include "symbols/ruby/heap_pages.h"
#include "symbols/ruby/references.h"

namespace heapattach::ruby {

// Root objects with the name of what references them: "vm", "$leak", "rb_cObject" (a variable of C
// code), "global_list" (one without a name), "finalizers" or "stack".
struct RootGroup {
  std::string name;
  std::vector<Value> to;
};

// The threads' stacks and registers, which are searched besides the modules and the machine.
struct ThreadWords {
  std::vector<Range> stacks;
  std::vector<std::uint64_t> registers;
};

// Finds the roots. Words that look like objects count as references. Does not read at_exit blocks.
// Also gives `references` the interpreter's table of objects' variables.
std::vector<RootGroup> find_roots(const Machine& machine,
                                  const Modules& modules,
                                  const MemoryReader& memory,
                                  const HeapCopy& heap,
                                  const ThreadWords& threads,
                                  ReferenceReader& references);

}  // namespace heapattach::ruby
