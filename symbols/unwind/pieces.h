#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "symbols/dwarf/dwarf_names.h"
#include "symbols/unwind/location.h"

namespace heapattach::unwind {

// One part of a variable that the compiler keeps in several locations.
struct Piece {
  std::uint64_t offset = 0;  // in the variable, in bytes
  std::uint64_t bytes = 0;
  std::span<const Dwarf_Op> expression;  // empty if the part has no location
};

// The pieces of an expression that composes a variable from several pieces; empty for other
// expressions.
std::vector<Piece> pieces_of(std::span<const Dwarf_Op> expression);

// A pointer among the members and elements of a type.
struct PointerPart {
  std::string path;  // in C notation: ".parent", "[1]"
  std::string type;  // the type's name in a TypeModel
};

// The pointer at `offset` in a value of `type`, if there is one.
std::optional<PointerPart> pointer_at(const Dwarf_Die& type,
                                      std::uint64_t offset,
                                      types::DwarfNames& names);

}  // namespace heapattach::unwind
