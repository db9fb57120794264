#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "symbols/elf/module.h"

// ECL, an implementation of Common Lisp.
//
// A value is a word whose two lowest bits are its tag: 11 a small integer, 10 a character, 01 a
// list, which is the address of a cons plus one, or NIL, which is 1 itself; 00 the address of any
// other object. An object starts with a byte for its type. The numbers of the types depend on how
// ECL was configured, but their order does not. (Sources: ecl/object.h, src/c/alloc_2.d of 21.2.1.)
namespace heapattach::ecl {

struct Facts {
  std::uint8_t symbol = 0;           // the type of symbols
  std::vector<std::uint32_t> sizes;  // by type, from ECL's own table; 0: no objects
  Range core;                        // the variable cl_core, which ECL's hook scans as roots
  Range symbols;                     // ECL's own symbols, which the hook scans, too

  [[nodiscard]] std::uint64_t size_of(std::uint8_t type) const {
    return type < sizes.size() ? sizes[type] : 0;
  }
};

// Returns nothing if the target does not use ECL, or if its ECL has unknown types.
[[nodiscard]] std::optional<Facts> find_ecl(const Modules& modules, const MemoryReader& memory);

// Reads ECL's table of types at `table`, where each entry contains a size and ends in its own
// number. Returns the sizes by type; empty if this is some other table.
[[nodiscard]] std::vector<std::uint32_t> read_sizes(RemoteAddr table, const MemoryReader& memory);

// Whether ECL's types are those that we know, in the same order.
[[nodiscard]] bool are_known_types(const Facts& facts);

}  // namespace heapattach::ecl
