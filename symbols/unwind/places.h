#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <elfutils/libdw.h>

#include "symbols/unwind/module_debug.h"
#include "symbols/unwind/stack_record.h"

namespace heapattach::unwind {

// Finds the namespaces and classes around debug information entries, which do not know their
// parents. Reads each unit on first use, in one pass. Use this in a sandbox.
class Scopes {
 public:
  // The prefix for names in the scope around `die`: "app::Cart::" for a member of that class; empty
  // at the outermost level.
  [[nodiscard]] const std::string& around(const Dwarf_Die& die);

 private:
  struct Scope {
    const void* begin = nullptr;  // the scope's entry
    const void* end = nullptr;  // the entry after the last one in the scope; null if there is none
    std::size_t parent = 0;
    std::string prefix;
  };
  using Unit = std::vector<Scope>;  // sorted by `begin`; the first is the unit itself

  static Unit read(const Dwarf_Die& root);
  static void walk(Dwarf_Die parent, std::size_t scope, int depth, Unit& unit);

  std::unordered_map<const void*, Unit> units_;  // by Dwarf_CU
};

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
  // The function that makes the procs written on a line.
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
