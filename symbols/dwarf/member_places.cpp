#include "symbols/dwarf/member_places.h"

#include <array>

#include <dwarf.h>

#include "attach/base/word.h"
#include "symbols/dwarf/dwarf_names.h"
#include "symbols/dwarf/dwarf_unit.h"

// LLVM writes a member as a bit field if the member's size differs from its type's size
// (DwarfUnit::constructMemberDIE, until LLVM 15). Crystal declares a Bool as one bit, and an array
// as having as many bits as elements. With F, the type's bits, and S, the member's, LLVM then
// computes from the true offset O, without checking for overflow:
//
//     H = (O + F) & ~(F - 1)            the end of the unit that it takes to hold the field
//     DW_AT_byte_size            = F / 8
//     DW_AT_bit_size             = S
//     DW_AT_bit_offset           = H - O - S
//     DW_AT_data_member_location = (H - F) / 8
//
// The divisions drop fractions of a byte; they can be restored because O is a whole number of
// bytes.

namespace heapattach::types {
namespace {

constexpr std::uint64_t kBitsOfByte = 8;

// F: the bits that byte_size has dropped are known for arrays, the only types whose size is not in
// whole bytes.
std::uint64_t bits_given_for_type(const Dwarf_Die& member, std::uint64_t byte_size) {
  const auto type = die_at(member, DW_AT_type);
  const auto plain = type ? without_qualifiers(*type) : std::nullopt;
  if (plain && tag_of(*plain) == DW_TAG_array_type) {
    const auto count = dimensions_of(*plain).front();
    if (count && *count / kBitsOfByte == byte_size) return *count;
  }
  return byte_size * kBitsOfByte;
}

}  // namespace

std::optional<std::uint64_t> offset_of_member(const Dwarf_Die& die) {
  Dwarf_Die at = die;
  Dwarf_Attribute attribute;
  if (dwarf_attr(&at, DW_AT_data_member_location, &attribute) == nullptr) return 0;
  Dwarf_Word offset = 0;
  if (dwarf_formudata(&attribute, &offset) == 0) return offset;
  Dwarf_Op* expression = nullptr;
  std::size_t length = 0;
  if (dwarf_getlocation(&attribute, &expression, &length) != 0 || length != 1) return std::nullopt;
  if (expression[0].atom != DW_OP_plus_uconst) return std::nullopt;
  return expression[0].number;
}

// All compilers: the address, plus the value at the vtable's address minus a constant.
std::optional<std::uint64_t> slot_of_virtual_base(const Dwarf_Die& die) {
  constexpr std::uint64_t kFarthest = std::uint64_t{1} << 20;
  constexpr std::size_t kConstant = 2;
  constexpr std::array<unsigned, 6> kWanted = {DW_OP_dup,   DW_OP_deref, 0,
                                               DW_OP_minus, DW_OP_deref, DW_OP_plus};
  Dwarf_Die at = die;
  Dwarf_Attribute attribute;
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_attr(&at, DW_AT_data_member_location, &attribute) == nullptr) return std::nullopt;
  if (dwarf_getlocation(&attribute, &ops, &count) != 0 || count != kWanted.size())
    return std::nullopt;
  for (std::size_t i = 0; i < count; ++i) {
    if (i != kConstant && ops[i].atom != kWanted[i]) return std::nullopt;
  }
  const Dwarf_Op& constant = ops[kConstant];
  std::uint64_t slot = constant.number;
  switch (constant.atom) {
    case DW_OP_const1u:
    case DW_OP_const2u:
    case DW_OP_const4u:
    case DW_OP_constu: break;
    default:
      if (constant.atom < DW_OP_lit0 || constant.atom > DW_OP_lit31) return std::nullopt;
      slot = constant.atom - DW_OP_lit0;
  }
  if (slot == 0 || slot % kWordBytes != 0 || slot > kFarthest) return std::nullopt;
  return slot;
}

void place_bits(const Dwarf_Die& die, Member& member) {
  const auto count = number_at(die, DW_AT_bit_size);
  if (!count || *count == 0 || *count > 64) return;
  std::uint64_t first = 0;
  if (const auto from_start = number_at(die, DW_AT_data_bit_offset)) {
    first = *from_start;
  } else {
    // Counted from the highest bit of a unit that starts at the member's offset.
    const std::uint64_t unit = number_at(die, DW_AT_byte_size).value_or(4) * kBitsOfByte;
    const std::uint64_t from_end = number_at(die, DW_AT_bit_offset).value_or(0) + *count;
    if (unit > 128 || from_end > unit) return;
    first = member.offset * kBitsOfByte + unit - from_end;
  }
  member.offset = first / kBitsOfByte;
  member.bit_count = static_cast<std::uint8_t>(*count);
  member.bit_offset = static_cast<std::uint8_t>(first % kBitsOfByte);
}

std::optional<std::uint64_t> offset_of_crystal_member(const Dwarf_Die& die) {
  if (const auto bits = number_at(die, DW_AT_data_bit_offset)) return *bits / kBitsOfByte;
  const auto location = offset_of_member(die);
  const auto size = number_at(die, DW_AT_bit_size);
  const auto bit_offset = number_at(die, DW_AT_bit_offset);
  if (!location || !size || !bit_offset) return location;
  const std::uint64_t type_bits =
      bits_given_for_type(die, number_at(die, DW_AT_byte_size).value_or(0));
  // H is within the next seven bits, as far from a whole byte as H - O is.
  const std::uint64_t to_end = *bit_offset + *size;
  std::uint64_t end = *location * kBitsOfByte + type_bits;
  end += (to_end - end) % kBitsOfByte;
  return (end - to_end) / kBitsOfByte;
}

}  // namespace heapattach::types
