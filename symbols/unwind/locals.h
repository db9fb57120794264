#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <elfutils/libdw.h>

#include "attach/memory/memory_reader.h"
#include "symbols/dwarf/dwarf_names.h"
#include "symbols/unwind/location.h"
#include "symbols/unwind/module_debug.h"
#include "symbols/unwind/unwind.h"

namespace heapattach::unwind {

// A variable or parameter of a frame, with its address, or with its value if it is in a register or
// was computed.
struct Local {
  std::string name;
  std::string type;  // the type's name in a TypeModel
  bool is_value = false;
  std::uint64_t at = 0;       // the address, or the value
  std::uint32_t inlined = 0;  // number of nested inlined functions around it
};

// Finds the variables of frames in debug information, in all scopes around the instruction,
// including inlined functions. If a variable is split over several locations ("session", with only
// ".user" in a register), each pointer in it counts as a variable. Variables at fixed addresses are
// not locals. Variables that have no location are skipped. Use this in a sandbox.
class Locals {
 public:
  Locals(ModuleDebugs& modules, const MemoryReader& memory) : modules_(modules), memory_(memory) {}

  std::vector<Local> of(const Frame& frame);

 private:
  struct Variable {
    std::string name;
    std::string type;
    Dwarf_Die described{};  // the entry with its type
    Dwarf_Attribute location{};
    std::optional<Dwarf_Attribute> frame_base;  // the frame base of the function around it
    std::uint32_t inlined = 0;                  // as in Local
  };
  class Collector;

  types::DwarfNames& names_of(ModuleDebug& module);
  const std::vector<Variable>& variables_at(ModuleDebug& module, Dwarf_Addr pc);
  // Adds the variable. If it is split over several locations, adds its parts that are pointers.
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
  std::map<std::uint64_t, std::vector<Variable>> variables_;  // by address in the target
};

}  // namespace heapattach::unwind
