#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <elfutils/libdw.h>

#include "attach/memory_reader.h"
#include "symbols/dwarf/dwarf_names.h"
#include "symbols/unwind/location.h"
#include "symbols/unwind/module_debug.h"
#include "symbols/unwind/unwind.h"

namespace heapattach::unwind {

// A variable or parameter of a frame, and where it is: an address, or a value that is in a register
// or was computed.
struct Local {
  std::string name;
  std::string type;  // as a TypeModel calls it
  bool is_value = false;
  std::uint64_t at = 0;       // the address, or the value
  std::uint32_t inlined = 0;  // how many functions around it are inlined, one into the other
};

// Finds the variables of frames by debug information: those of all scopes around the instruction,
// those of functions that were inlined there among them. Of a variable that is kept in several
// places ("session" of which only ".user" is in a register), each pointer counts as one. What
// stands at a fixed address is no local, and what the compiler keeps nowhere is left out. To be
// used in a sandbox.
class Locals {
 public:
  Locals(ModuleDebugs& modules, const MemoryReader& memory) : modules_(modules), memory_(memory) {}

  std::vector<Local> of(const Frame& frame);

 private:
  struct Variable {
    std::string name;
    std::string type;
    Dwarf_Die described{};  // the entry that has its type
    Dwarf_Attribute location{};
    std::optional<Dwarf_Attribute> frame_base;  // of the function around it
    std::uint32_t inlined = 0;                  // as of a Local
  };
  class Collector;

  types::DwarfNames& names_of(ModuleDebug& module);
  const std::vector<Variable>& variables_at(ModuleDebug& module, Dwarf_Addr pc);
  // Adds the variable, or those of its parts that are pointers if it is kept in several places.
  void locate(const Variable& variable,
              const Frame& frame,
              ModuleDebug& module,
              std::vector<Local>& into);
  static void add(const std::optional<Location>& place,
                  const Frame& frame,
                  const Variable& variable,
                  std::vector<Local>& into);

  ModuleDebugs& modules_;
  const MemoryReader& memory_;
  std::map<const Module*, std::unique_ptr<types::DwarfNames>> names_;
  std::map<std::uint64_t, std::vector<Variable>> variables_;  // by the address in the target
};

}  // namespace heapattach::unwind
