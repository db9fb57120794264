#pragma once

#include <cstdint>
#include <optional>

#include <elfutils/libdw.h>

#include "symbols/types/type_model.h"

namespace heapattach::types {

// Where a member or base class starts, in bytes. Nothing if only running code knows, as with a
// virtual base.
[[nodiscard]] std::optional<std::uint64_t> offset_of_member(const Dwarf_Die& die);

// For the entry of a virtual base: VirtualBase::slot. Nothing if it is found in another way.
[[nodiscard]] std::optional<std::uint64_t> slot_of_virtual_base(const Dwarf_Die& die);

// If `member` is a bit field, sets its bits; its offset is that of its entry. Understands both ways
// of counting bits that the versions of DWARF use.
void place_bits(const Dwarf_Die& die, Member& member);

// Where a member of a Crystal type starts, in bytes. The language has no bit fields, but its
// compiler's debug information has them.
[[nodiscard]] std::optional<std::uint64_t> offset_of_crystal_member(const Dwarf_Die& die);

}  // namespace heapattach::types
