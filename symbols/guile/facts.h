#pragma once

#include <cstdint>
#include <optional>

#include "attach/memory/memory_reader.h"
#include "symbols/elf/module.h"

// The values and cells of Guile 2.2 and 3.0.
//
// A value is a word. Its lowest bits are its tag: 10 a small integer, 100 a character or one of a
// few constants, 000 the address of a cell. The first word of a cell determines what the cell is:
// if its lowest bit is 0, it is the first value of a pair; 001 is a struct, and the rest of the
// word points to its vtable; 101 and 111 are all other cells, distinguished by seven bits.
// (Sources: libguile/scm.h, tags.h.)
namespace heapattach::guile {

// The layout of this Guile's structs, learned from its own first vtable. In 3.0 the slots follow
// the first word, which points to the vtable's cell. In 2.2 the cell has a pointer to the slots,
// and its first word points to the vtable's slots.
struct Facts {
  std::uint64_t slots_at = 0;  // in a struct's cell
  // Whether the first word of a struct points to the vtable's slots, not to its cell.
  bool leads_to_slots = false;
  std::uint64_t vtable_name = 0;                   // the slot number in a vtable
  std::optional<RemoteAddr> smobs = std::nullopt;  // the table of smob types
  std::uint64_t smob_types = 0;                    // the number of smob types
};

// Returns nothing if the target does not use Guile, if Guile has not started yet, or if it has
// another layout.
[[nodiscard]] std::optional<Facts> find_guile(const Modules& modules, const MemoryReader& memory);

// Reads the facts, given the address of the variable scm_standard_vtable_vtable.
[[nodiscard]] std::optional<Facts> facts_from(RemoteAddr first_vtable, const MemoryReader& memory);

}  // namespace heapattach::guile
