#include "symbols/guile/cells.h"

#include <algorithm>

#include <fmt/format.h>

#include "symbols/guile/fixed_cells.h"
#include "symbols/guile/values.h"
#include "symbols/text/utf8.h"

namespace heapattach::guile {

namespace {

constexpr std::uint64_t kLayoutSlot = 0;
constexpr std::uint64_t kFlagsSlot = 1;
constexpr std::uint64_t kMakesVtables = 2;  // one of the flags
constexpr std::uint64_t kOwnSlots = 8;      // slots of every vtable; slots of its kind follow
constexpr std::uint64_t kMostOwnSlots = 32;
constexpr std::uint64_t kMostSlots = 4096;

using runtimes::fits;
using runtimes::Shape;

constexpr std::uint64_t kMostElements = std::uint64_t{1} << 40;
constexpr std::uint64_t kLookedAt = 64;  // the most values of an array that are examined

constexpr std::uint64_t kBig = kNumber | 0x100;
constexpr std::uint64_t kReal = kNumber | 0x200;
constexpr std::uint64_t kComplex = kNumber | 0x300;

constexpr std::uint64_t kWide = 0x400;  // a string buffer of 32-bit characters
constexpr std::uint64_t kContiguous = std::uint64_t{0x100} << 7;  // a byte vector, its bytes inside
constexpr std::uint64_t kByteVectorHeader = 32;

constexpr std::uint64_t kUnboxedSlot = 6;    // in a vtable of 3.0
constexpr std::uint64_t kUnboxedFields = 0;  // a key that is not a tag

Shape shape_of(const FixedCell& cell) {
  Shape shape{.name = cell.name};
  for (std::size_t i = 0; i < cell.fields.size(); ++i) {
    const FixedField& field = cell.fields[i];
    const bool refers = field.kind == FieldKind::Value || field.kind == FieldKind::Part ||
                        field.kind == FieldKind::Target;
    if (refers) shape.words.push_back({(i + 1) * 8, field.name});
  }
  return shape;
}

Shape array_shape(const char* name, std::uint64_t at) {
  return {.name = name, .elements_at = at, .element_bytes = 8, .element_words = {{0, ""}}};
}

Shape struct_shape(const Vtable& vtable, std::uint64_t slots_at) {
  Shape shape{.name = vtable.name.empty() ? "struct" : vtable.name};
  shape.words.push_back({0, "vtable"});
  for (std::size_t i = 0; i < vtable.fields.size(); ++i) {
    shape.words.push_back({slots_at + i * 8, vtable.fields[i]});
  }
  return shape;
}

}  // namespace

const Vtable* Vtables::of(std::uint64_t first_word) {
  const auto [at, is_new] = known_.try_emplace(first_word);
  if (is_new) {
    if (const auto cell = cell_of_vtable(first_word)) at->second = read(*cell);
  }
  return at->second ? &*at->second : nullptr;
}

std::optional<std::uint64_t> Vtables::cell_of_vtable(std::uint64_t first_word) const {
  if (!is_struct_word(first_word)) return std::nullopt;
  const std::uint64_t to = first_word - 1;
  if (!facts_.leads_to_slots) return view_.may_refer_to(to) ? std::optional(to) : std::nullopt;
  if (to < facts_.slots_at) return std::nullopt;
  const std::uint64_t cell = to - facts_.slots_at;
  if (view_.word(cell + 8) != to) return std::nullopt;
  return cell;
}

std::optional<std::uint64_t> Vtables::slot(std::uint64_t cell, std::uint64_t index) const {
  return view_.word(cell + facts_.slots_at + index * 8);
}

// Returns the number of slots of an instance. A layout has two characters for each slot. In 2.2, a
// layout with an array at its end looks like any other, but its instances do not fit.
std::optional<std::uint64_t> Vtables::slots_of_instances(std::uint64_t cell) const {
  const auto layout = slot(cell, kLayoutSlot);
  const auto tag = layout && *layout % 8 == 0 ? view_.word(*layout) : std::nullopt;
  const auto buffer = tag && (*tag & kTagMask) == kSymbol ? view_.word(*layout + 8) : std::nullopt;
  const auto buffer_tag = buffer ? view_.word(*buffer) : std::nullopt;
  if (!buffer_tag || (*buffer_tag & kTagMask) != kStringBuffer) return std::nullopt;
  const auto length = view_.word(*buffer + 8);
  if (!length || *length > 2 * kMostSlots) return std::nullopt;
  return *length / 2;
}

// Reads a vtable, which must be an instance of a vtable of vtables.
std::optional<Vtable> Vtables::read(std::uint64_t cell) const {
  const auto first_word = view_.word(cell);
  const auto maker = first_word ? cell_of_vtable(*first_word) : std::nullopt;
  const auto own_slots = maker ? slots_of_instances(*maker) : std::nullopt;
  const auto slots = slots_of_instances(cell);
  const auto flags = slot(cell, kFlagsSlot);
  if (!own_slots || *own_slots < kOwnSlots || !slots || !flags) return std::nullopt;
  Vtable vtable;
  vtable.name = text_of(view_, slot(cell, facts_.vtable_name).value_or(0));
  vtable.slots = *slots;
  vtable.makes_vtables = (*flags & kMakesVtables) != 0;
  vtable.fields = fields_of(cell, *own_slots, *slots);
  return vtable;
}

// Reads the names of an instance's slots. A record's type and a class of GOOPS have a list with one
// entry for each slot: the name, or a struct that begins with the name.
std::vector<std::string> Vtables::fields_of(std::uint64_t cell,
                                            std::uint64_t own_slots,
                                            std::uint64_t fields) const {
  if (fields == 0) return {};
  for (std::uint64_t i = kOwnSlots; i < std::min(own_slots, kMostOwnSlots); ++i) {
    const auto list = list_of(view_, slot(cell, i).value_or(0), fields);
    std::vector<std::string> names;
    for (const std::uint64_t entry : list) {
      const auto tag = entry % 8 == 0 ? view_.word(entry) : std::nullopt;
      const bool is_slot = tag && is_struct_word(*tag);
      names.push_back(text_of(view_, is_slot ? slot(entry, 0).value_or(0) : entry));
      if (names.back().empty()) break;
    }
    if (names.size() == fields && !names.back().empty()) return names;
  }
  return {};
}

Shape vector_shape() {
  return array_shape("vector", 8);
}

Cells::Cells(const Facts& facts, const runtimes::HeapView& view, runtimes::ObjectNames& names)
    : facts_(facts), view_(view), names_(names), vtables_(facts, view) {}

Cell Cells::cell_of(heap::ObjectRef ref) const {
  const heap::Block& block = view_.heap().blocks()[ref.block];
  return {.at = view_.heap().address(ref).value,
          .bytes = block.object_bytes,
          .tag = view_.heap().word_at(ref, 0).value_or(0),
          .is_atomic = block.is_atomic()};
}

std::uint64_t Cells::word(const Cell& cell, std::uint64_t index) const {
  return view_.word(cell.at + index * 8).value_or(0);
}

bool Cells::are_values(const Cell& cell, std::uint64_t first, std::uint64_t count) const {
  const std::uint64_t looked_at = std::min(count, kLookedAt);
  for (std::uint64_t i = 0; i < looked_at; ++i) {
    if (!is_value(view_, word(cell, first + i))) return false;
  }
  return true;
}

bool Cells::is_pair(heap::ObjectRef ref) const {
  const Cell cell = cell_of(ref);
  return cell.bytes == 16 && !cell.is_atomic && is_pair_word(cell.tag) && are_values(cell, 0, 2);
}

Cells::Found Cells::read(heap::ObjectRef ref, Parts& parts) {
  const Cell cell = cell_of(ref);
  if (is_pair_word(cell.tag)) return std::nullopt;
  if (is_struct_word(cell.tag)) return read_struct(cell, parts);
  switch (cell.tag & kTagMask) {
    case kVector:
    case kWeakVector:
    case kValues:
    case kProgram:
    case kArray: return read_array(cell);
    case kStringBuffer:
    case kByteVector: return read_bytes(cell, parts);
    case kSmob: return read_smob(cell, parts);
    case kNumber:
      if (cell.tag != kFraction) return read_number(cell, parts);
      break;
    default: break;
  }
  return read_fixed(cell, parts);
}

Cells::ShapeNumber Cells::known(std::uint64_t key, Shape (*make)()) {
  const auto [at, is_new] = known_.try_emplace(key);
  if (is_new) at->second = names_.intern(make());
  return at->second;
}

Cells::Found Cells::read_struct(const Cell& cell, Parts& parts) {
  const Vtable* vtable = vtables_.of(cell.tag);
  if (vtable == nullptr || cell.is_atomic) return std::nullopt;
  if (!fits(cell.bytes, facts_.slots_at + vtable->slots * 8)) return std::nullopt;
  if (facts_.leads_to_slots && word(cell, 1) != cell.at + facts_.slots_at) return std::nullopt;
  if (vtable->makes_vtables && !facts_.leads_to_slots) {
    const std::uint64_t fields = word(cell, facts_.slots_at / 8 + kUnboxedSlot);
    parts.push_back(
        {fields, 4,
         known(kUnboxedFields, [] { return runtimes::part_of("vtable", "unboxed fields"); }),
         true});
  }
  const auto [at, is_new] = structs_.try_emplace(cell.tag);
  if (is_new) at->second = names_.intern(struct_shape(*vtable, facts_.slots_at));
  return at->second;
}

Cells::Found Cells::read_fixed(const Cell& cell, Parts& parts) {
  const auto fixed = std::find_if(kFixedCells.begin(), kFixedCells.end(), [&](const FixedCell& k) {
    return (cell.tag & ~k.flags) == k.tag && fits(cell.bytes, k.bytes);
  });
  if (fixed == kFixedCells.end() || cell.is_atomic) return std::nullopt;
  for (std::size_t i = 0; i < fixed->fields.size(); ++i) {
    if (fixed->fields[i].kind != FieldKind::Value) continue;
    if (!is_value(view_, word(cell, i + 1))) return std::nullopt;
  }
  for (std::size_t i = 0; i < fixed->fields.size(); ++i) {
    const FixedField& field = fixed->fields[i];
    const bool is_part = field.kind == FieldKind::Part;
    if (!is_part && field.kind != FieldKind::Target) continue;
    const ShapeNumber shape = names_.intern(runtimes::part_of(fixed->name, field.name));
    parts.push_back({word(cell, i + 1), field.bytes, shape, is_part});
  }
  const auto [at, is_new] = known_.try_emplace(fixed->tag);
  if (is_new) at->second = names_.intern(shape_of(*fixed));
  return at->second;
}

// Reads an array, whose tag contains the number of its elements.
Cells::Found Cells::read_array(const Cell& cell) {
  const std::uint64_t tag = cell.tag & kTagMask;
  const std::uint64_t count = cell.tag >> (tag == kProgram ? 16 : tag == kArray ? 17 : 8);
  if (count > kMostElements || cell.is_atomic != (tag == kWeakVector)) return std::nullopt;
  if (tag == kArray) {
    if (!fits(cell.bytes, 8 * (3 + 3 * count)) || !are_values(cell, 1, 1)) return std::nullopt;
    return known(kArray, [] { return Shape{.name = "array", .words = {{8, "elements"}}}; });
  }
  const std::uint64_t first = tag == kProgram ? 2 : 1;
  if (!fits(cell.bytes, 8 * (first + count))) return std::nullopt;
  if (tag == kWeakVector) {
    return known(kWeakVector, [] { return array_shape("weak-vector", 8); });
  }
  if (tag == kProgram) {
    const std::uint64_t code = word(cell, 1);
    if (code == 0 || code % 4 != 0 || !view_.word(code & ~std::uint64_t{7})) return std::nullopt;
    return known(kProgram, [] { return array_shape("procedure", 16); });
  }
  if (!are_values(cell, first, count)) return std::nullopt;
  if (tag == kValues) return known(kValues, [] { return array_shape("values", 8); });
  return known(kVector, vector_shape);
}

Cells::Found Cells::read_bytes(const Cell& cell, Parts& parts) {
  const std::uint64_t length = word(cell, 1);
  if (length > kMostElements) return std::nullopt;
  if ((cell.tag & kTagMask) == kStringBuffer) {
    const std::uint64_t width = (cell.tag & kWide) != 0 ? 4 : 1;
    if (!cell.is_atomic || cell.tag > 0xffff || !fits(cell.bytes, 16 + (length + 1) * width)) {
      return std::nullopt;
    }
    return known(kStringBuffer, [] { return Shape{.name = "stringbuf"}; });
  }
  const std::uint64_t contents = word(cell, 2);
  const bool is_inside = (cell.tag & kContiguous) != 0;
  if (is_inside != (contents == cell.at + kByteVectorHeader)) return std::nullopt;
  if (!fits(cell.bytes, kByteVectorHeader + (is_inside ? length : 0))) return std::nullopt;
  if (!is_inside) {
    parts.push_back({contents, length, names_.intern(runtimes::part_of("bytevector", "bytes"))});
  }
  return known(kByteVector, [] { return Shape{.name = "bytevector", .words = {{24, "parent"}}}; });
}

// Reads a number. The digits of a large integer follow it, or are elsewhere.
Cells::Found Cells::read_number(const Cell& cell, Parts& parts) {
  if (cell.tag == kReal && cell.is_atomic && fits(cell.bytes, 16)) {
    return known(kReal, [] { return Shape{.name = "flonum"}; });
  }
  if (cell.tag == kComplex && cell.is_atomic && fits(cell.bytes, 24)) {
    return known(kComplex, [] { return Shape{.name = "complex"}; });
  }
  if (cell.tag != kBig) return std::nullopt;
  const auto size = static_cast<std::int32_t>(word(cell, 1) >> 32);
  const auto digits = static_cast<std::uint64_t>(size < 0 ? -std::int64_t{size} : size);
  const bool is_inside = word(cell, 2) == cell.at + 24;
  if (!fits(cell.bytes, 24 + (is_inside ? digits * 8 : 0))) return std::nullopt;
  if (!is_inside) {
    const ShapeNumber shape = names_.intern(runtimes::part_of("bignum", "digits"));
    parts.push_back({word(cell, 2), digits * 8, shape, true});
  }
  return known(kBig, [] { return Shape{.name = "bignum"}; });
}

Cells::Found Cells::read_smob(const Cell& cell, Parts& parts) {
  const bool fits_one = fits(cell.bytes, 16) || fits(cell.bytes, 32) || fits(cell.bytes, 40);
  const bool is_tag = cell.tag >> 48 == 0;  // the type's own flags are in the bits below
  if (!facts_.smobs || cell.is_atomic || !fits_one || !is_tag) return std::nullopt;
  const std::uint64_t number = cell.tag >> 8 & (kSmobTypes - 1);
  const std::uint64_t type = facts_.smobs->value + number * kSmobTypeBytes;
  const auto [at, is_new] = smobs_.try_emplace(number, runtimes::ObjectNames::kNone);
  if (is_new) at->second = name_smob(number, type);
  if (at->second == runtimes::ObjectNames::kNone) return std::nullopt;
  const std::uint64_t data_bytes = view_.word(type + 8).value_or(0);
  const std::string holder = names_.shapes()[at->second].name;
  parts.push_back({word(cell, 1), std::max<std::uint64_t>(data_bytes, 1),
                   names_.intern(runtimes::part_of(holder, "data")), data_bytes != 0});
  return at->second;
}

Cells::ShapeNumber Cells::name_smob(std::uint64_t number, std::uint64_t type) {
  if (number >= facts_.smob_types) return runtimes::ObjectNames::kNone;
  std::string name;
  for (const std::byte byte : view_.bytes(view_.word(type).value_or(0), 64)) {
    if (byte == std::byte{0}) break;
    append_utf8(name, std::to_integer<std::uint32_t>(byte));
  }
  if (name.empty()) name = fmt::format("smob {}", number);
  return names_.intern({.name = name, .words = {{8, "data"}}});
}

}  // namespace heapattach::guile
