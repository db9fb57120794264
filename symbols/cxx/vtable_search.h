#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "symbols/elf/module.h"

namespace heapattach::cxx {

// The vtables of modules whose symbols were stripped, found by their form.
struct FoundVtables {
  struct Vtable {
    std::uint64_t functions = 0;  // what objects of the class begin with
    std::string mangled;          // the class: "N2ns5OrderE"
  };
  std::vector<Vtable> vtables;  // by address
  std::set<std::string> bases;  // the mangled names of classes from which others are derived
};

// Searches the constants of those modules that have no complete table of symbols, and are not the
// system's. A table counts if the type_info that it names proves to be one. Those of which
// `is_known` says so, by what objects begin with, are left out; it may be empty.
[[nodiscard]] FoundVtables search_vtables(const Modules& modules,
                                          const MemoryReader& memory,
                                          const std::function<bool(std::uint64_t)>& is_known = {});

// A module of the system, or one that contains no C++.
[[nodiscard]] bool is_without_classes(const Module& module);

}  // namespace heapattach::cxx
