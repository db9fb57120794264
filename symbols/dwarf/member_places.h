#pragma once

#include <cstdint>
#include <optional>

#include <elfutils/libdw.h>

#include "symbols/types/type_model.h"

namespace heapattach::types {

// The offset of a member or base class, in bytes. Nothing if it is known only at run time, as for a
// virtual base.
[[nodiscard]] std::optional<std::uint64_t> offset_of_member(const Dwarf_Die& die);

// VirtualBase::slot for the entry of a virtual base. Nothing if its offset is found in another way.
[[nodiscard]] std::optional<std::uint64_t> slot_of_virtual_base(const Dwarf_Die& die);

// If `member` is a bit field, sets its bits; its offset must already be set. Understands both bit
// numberings used by the versions of DWARF.
void place_bits(const Dwarf_Die& die, Member& member);

// The offset of a member of a Crystal type, in bytes. The language has no bit fields, but its
// compiler's debug information contains some.
[[nodiscard]] std::optional<std::uint64_t> offset_of_crystal_member(const Dwarf_Die& die);

}  // namespace heapattach::types
