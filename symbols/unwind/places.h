#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <elfutils/libdw.h>

#include "symbols/unwind/module_debug.h"
#include "symbols/unwind/scopes.h"
#include "symbols/unwind/stack_record.h"

namespace heapattach::unwind {

// Finds the functions, files and lines of instructions. Functions come from debug information, or
// else from the module's symbols; files and lines come from the line tables. Use this in a sandbox.
class Places {
 public:
  // Without `with_library_lines`, only symbols are used for modules whose types are not read.
  explicit Places(ModuleDebugs& modules, bool with_library_lines = true)
      : modules_(modules), with_library_lines_(with_library_lines) {}

  std::vector<Place> of(RemoteAddr pc);

 private:
  std::vector<Place> by_debug_information(ModuleDebug& module, Dwarf_Addr pc);
  std::string name_of(Dwarf_Die function);
  // The function that makes the procs of a line.
  std::string maker_of(ModuleDebug& module, const Dwarf_Die& proc);
  std::string find_maker(ModuleDebug& module, const DeclaredAt& proc);
  std::string maker_at(ModuleDebug& module, Dwarf_Addr pc, const DeclaredAt& proc);

  ModuleDebugs& modules_;
  Scopes scopes_;
  std::map<std::tuple<const ModuleDebug*, std::string, std::uint32_t>, std::string> makers_;
  std::size_t maker_lookups_ = 0;
  bool with_library_lines_;
};

}  // namespace heapattach::unwind
