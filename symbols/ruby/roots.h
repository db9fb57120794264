#pragma once

#include <string>
#include <vector>

#include "symbols/elf/module.h"
#include "symbols/ruby/heap_pages.h"
#include "symbols/ruby/references.h"

namespace heapattach::ruby {

// Objects that are alive by themselves, by what references them: "vm", "$leak", "rb_cObject" (a
// variable of C code), "global_list" (one without a name), "finalizers", "stack".
struct RootGroup {
  std::string name;
  std::vector<Value> to;
};

// Where to look besides the modules and the machine: the stacks and registers of the threads.
struct ThreadWords {
  std::vector<Range> stacks;
  std::vector<std::uint64_t> registers;
};

// All that can be found. Words that look like objects count as references. Blocks for the end of
// the process are not read. Also tells `references` where the variables are that
// objects have in a table of the interpreter's.
std::vector<RootGroup> find_roots(const Machine& machine,
                                  const Modules& modules,
                                  const MemoryReader& memory,
                                  const HeapCopy& heap,
                                  const ThreadWords& threads,
                                  ReferenceReader& references);

}  // namespace heapattach::ruby
