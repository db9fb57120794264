#pragma once

#include <cstdint>
#include <optional>

#include "attach/memory_reader.h"
#include "symbols/elf/module.h"

// Guile, 2.2 and 3.0: its values and their cells.
//
// A value is a word. Its lowest bits say what it is: 10 a small integer, 100 a character or one of
// a few constants, 000 the address of a cell. The first word of a cell says what the cell is: with
// its lowest bit 0 it is the first value of a pair; 001 is a struct, whose vtable the rest of the
// word leads to; 101 and 111 are all others, told apart by seven bits (Facts: libguile/scm.h,
// tags.h).
namespace heapattach::guile {

// How this Guile lays out its structs, as its own first vtable shows: 3.0 has the slots behind the
// first word, which leads to the vtable's cell; 2.2 has a pointer to the slots there, and its first
// word leads to the vtable's slots.
struct Facts {
  std::uint64_t slots_at = 0;     // in a struct's cell
  bool leads_to_slots = false;    // the first word of a struct, not to the vtable's cell
  std::uint64_t vtable_name = 0;  // which slot of a vtable
  std::optional<RemoteAddr> smobs = std::nullopt;  // the table of smob types
  std::uint64_t smob_types = 0;                    // how many of them were made
};

// Nothing if the target has no Guile, or one that has not started or is laid out otherwise.
[[nodiscard]] std::optional<Facts> find_guile(const Modules& modules, const MemoryReader& memory);

// The same by the address of the variable scm_standard_vtable_vtable.
[[nodiscard]] std::optional<Facts> facts_from(RemoteAddr first_vtable, const MemoryReader& memory);

}  // namespace heapattach::guile
