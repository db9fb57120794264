#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attach/memory_reader.h"
#include "symbols/elf/module.h"

// ECL, an implementation of Common Lisp.
//
// A value is a word whose two lowest bits say what it is: 11 a small integer, 10 a character, 01 a
// list, which is the address of a cons plus one, or NIL, which is 1 itself; 00 the address of any
// other object. That begins with a byte that says its type. The numbers of the types depend on how
// ECL was configured, their order does not (Facts: ecl/object.h, src/c/alloc_2.d of 21.2.1).
namespace heapattach::ecl {

struct Facts {
  std::uint8_t symbol = 0;           // the type of symbols
  std::vector<std::uint32_t> sizes;  // by type, as ECL's own table says; 0: no objects
  Range core;                        // the variable cl_core, and
  Range symbols;                     // ECL's own symbols: its hook makes both roots

  [[nodiscard]] std::uint64_t size_of(std::uint8_t type) const {
    return type < sizes.size() ? sizes[type] : 0;
  }
};

// Nothing if the target has no ECL, or one whose types are other than those that are known here.
[[nodiscard]] std::optional<Facts> find_ecl(const Modules& modules, const MemoryReader& memory);

// What is at `table` if that is ECL's table of types, where each has its size and, last, its own
// number: sizes by type, up to the last. Empty if it is not.
[[nodiscard]] std::vector<std::uint32_t> read_sizes(RemoteAddr table, const MemoryReader& memory);

// Whether the types are those that are known here, in this order.
[[nodiscard]] bool are_known_types(const Facts& facts);

}  // namespace heapattach::ecl
