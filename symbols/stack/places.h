#pragma once

#include <vector>

#include <elfutils/libdw.h>

#include "symbols/stack/module_debug.h"
#include "symbols/stack/scopes.h"
#include "symbols/stack/stack_record.h"

namespace heapattach::stack {

// Names instructions: functions by debug information, else by the module's symbols, files and lines
// by the line tables. To be used in a sandbox.
class Places {
 public:
  explicit Places(ModuleDebugs& modules) : modules_(modules) {}

  std::vector<Place> of(RemoteAddr pc);

 private:
  std::vector<Place> by_debug_information(ModuleDebug& module, Dwarf_Addr pc);
  std::string name_of(Dwarf_Die function);

  ModuleDebugs& modules_;
  Scopes scopes_;
};

}  // namespace heapattach::stack
