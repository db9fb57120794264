#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <elfutils/libdw.h>

namespace heapattach::unwind {

// Finds the namespaces and classes around debug information entries, which do not know their
// parents. Reads each unit on first use, in one pass. Use this in a sandbox.
class Scopes {
 public:
  // "app::Cart::" for members of that class; empty at the outermost level.
  [[nodiscard]] const std::string& around(const Dwarf_Die& die);

 private:
  struct Scope {
    const void* begin = nullptr;  // its entry,
    const void* end = nullptr;    // and the entry after its last one; null if there is none
    std::size_t parent = 0;
    std::string prefix;
  };
  using Unit = std::vector<Scope>;  // by begin; the first is the unit itself

  static Unit read(const Dwarf_Die& root);
  static void walk(Dwarf_Die parent, std::size_t scope, int depth, Unit& unit);

  std::unordered_map<const void*, Unit> units_;  // by Dwarf_CU
};

}  // namespace heapattach::unwind
