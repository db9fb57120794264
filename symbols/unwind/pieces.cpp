#include "symbols/unwind/pieces.h"

#include <dwarf.h>
#include <fmt/format.h>

#include "attach/base/word.h"
#include "symbols/dwarf/member_places.h"

namespace heapattach::unwind {

namespace {

constexpr std::size_t kMostPieces = 64;
constexpr int kDeepest = 16;
constexpr std::uint64_t kLargest = std::uint64_t{1} << 32;

struct Part {
  Dwarf_Die type{};
  std::uint64_t offset = 0;  // the remaining offset, within the type
  std::string path;
};

std::optional<Dwarf_Die> plain_type_of(const Dwarf_Die& die) {
  const auto type = types::die_at(die, DW_AT_type);
  return type ? types::without_qualifiers(*type) : std::nullopt;
}

std::uint64_t bytes_of(Dwarf_Die type) {
  Dwarf_Word bytes = 0;
  return dwarf_aggregate_size(&type, &bytes) == 0 && bytes <= kLargest ? bytes : 0;
}

// The element of a one-dimensional array.
std::optional<Part> into_array(const Part& at) {
  const auto element = plain_type_of(at.type);
  const std::uint64_t bytes = element ? bytes_of(*element) : 0;
  if (bytes == 0 || types::dimensions_of(at.type).size() != 1) return {};
  return Part{*element, at.offset % bytes, fmt::format("{}[{}]", at.path, at.offset / bytes)};
}

// The member of a structure that covers the offset.
std::optional<Part> into_structure(const Part& at) {
  std::optional<Part> found;
  types::each_child(at.type, [&](const Dwarf_Die& child) {
    const int tag = types::tag_of(child);
    if (tag != DW_TAG_member && tag != DW_TAG_inheritance) return true;
    const auto start = types::offset_of_member(child);
    const auto type = plain_type_of(child);
    if (!start || !type || *start > at.offset || at.offset - *start >= bytes_of(*type)) return true;
    const std::string name = tag == DW_TAG_member ? types::own_name(child) : std::string();
    found = Part{*type, at.offset - *start, at.path + (name.empty() ? "" : "." + name)};
    return false;
  });
  return found;
}

std::optional<Part> step_into(const Part& at) {
  switch (types::tag_of(at.type)) {
    case DW_TAG_array_type: return into_array(at);
    case DW_TAG_structure_type:
    case DW_TAG_class_type: return into_structure(at);
    default: return {};
  }
}

}  // namespace

std::vector<Piece> pieces_of(std::span<const Dwarf_Op> expression) {
  std::vector<Piece> pieces;
  std::uint64_t offset = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < expression.size() && pieces.size() < kMostPieces; ++i) {
    if (expression[i].atom != DW_OP_piece) continue;
    const std::uint64_t bytes = expression[i].number;
    if (bytes > kLargest) break;
    pieces.push_back({offset, bytes, expression.subspan(start, i - start)});
    offset += bytes;
    start = i + 1;
  }
  return pieces;
}

std::optional<PointerPart> pointer_at(const Dwarf_Die& type,
                                      std::uint64_t offset,
                                      types::DwarfNames& names) {
  const auto plain = types::without_qualifiers(type);
  if (!plain) return {};
  std::optional<Part> at = Part{*plain, offset, ""};
  for (int depth = 0; at && depth < kDeepest; ++depth) {
    const int tag = types::tag_of(at->type);
    if (tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type) {
      if (at->offset != 0 || bytes_of(at->type) != kWordBytes) return {};
      return PointerPart{at->path, names.of(at->type)};
    }
    at = step_into(*at);
  }
  return {};
}

}  // namespace heapattach::unwind
