#include "symbols/dwarf/dwarf_reader.h"

#include <algorithm>
#include <utility>

#include <dwarf.h>
#include <fmt/format.h>

#include "attach/base/word.h"
#include "symbols/crystal/type_names.h"

namespace heapattach::types {
namespace {

constexpr int kDeepest = 64;
constexpr std::uint64_t kLargestType = std::uint64_t{1} << 40;
constexpr unsigned kMostComparisons = 4;

std::optional<std::uint64_t> bytes_of(const Dwarf_Die& die) {
  const auto bytes = number_at(die, DW_AT_byte_size);
  return bytes && *bytes <= kLargestType ? bytes : std::nullopt;
}

bool needs_reading(int tag) {
  return is_aggregate(tag) || tag == DW_TAG_enumeration_type;
}

Encoding encoding_of(std::uint64_t number, std::string_view name) {
  if (name == "Symbol") return Encoding::Symbol;
  switch (number) {
    case DW_ATE_boolean: return Encoding::Boolean;
    case DW_ATE_float:
    case DW_ATE_complex_float:
    case DW_ATE_decimal_float: return Encoding::Float;
    case DW_ATE_UTF: return Encoding::Character;
    case DW_ATE_signed_char: return name == "char" ? Encoding::Character : Encoding::Signed;
    case DW_ATE_unsigned_char: return name == "char" ? Encoding::Character : Encoding::Unsigned;
    case DW_ATE_signed:
    case DW_ATE_signed_fixed: return Encoding::Signed;
    default: return Encoding::Unsigned;
  }
}

}  // namespace

DwarfReader::DwarfReader(DebugInformation& information,
                         const DwarfReadLimits& limits,
                         TypeModel& into)
    : information_(information), limits_(limits), model_(into), names_(information.main()) {}

void DwarfReader::read() {
  Dwarf_CU* unit = nullptr;
  Dwarf_Die root;
  Dwarf* const dwarf = information_.main();
  int result = 0;
  while ((result = dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &root, nullptr)) == 0) {
    if (DebugInformation::is_skeleton(root)) {
      read_split_off(root);
    } else {
      read_unit(root);
    }
  }
  if (result < 0) model_.notes.emplace_back(kNotReadToItsEnd);
}

// Reads a split unit with the type units that came with it.
void DwarfReader::read_split_off(const Dwarf_Die& skeleton) {
  const auto found = information_.split_off(skeleton);
  if (!found) return;
  Dwarf* const dwarf = dwarf_cu_getdwarf(found->cu);
  Dwarf_CU* unit = nullptr;
  Dwarf_Die root;
  while (dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &root, nullptr) == 0) {
    names_.units().set_skeleton(root, skeleton);
    read_unit(root);
  }
}

void DwarfReader::read_unit(const Dwarf_Die& root) {
  ++counts_.units;
  const DwarfUnit& unit = names_.units().of(root);
  if (unit.is_cut_off()) ++counts_.too_deep;
  if (unit.language() == Language::Crystal) {
    for (const DwarfUnit::Entry& entry : unit.types()) {
      if (tag_of(entry.die) != DW_TAG_pointer_type) continue;
      const CrystalPointer kind = crystal_pointer(entry.die);
      const auto target = die_at(entry.die, DW_AT_type);
      if (kind == CrystalPointer::Reference) crystal_classes_.insert(target->addr);
      if (kind == CrystalPointer::UnionOfReferences) crystal_unions_.insert(target->addr);
    }
  }
  for (const DwarfUnit::Entry& entry : unit.types()) describe_entry(entry.die);
  for (const DwarfUnit::Entry& entry : unit.variables()) read_global(entry);
  read_pending();
}

void DwarfReader::read_pending() {
  while (!pending_.empty()) {
    const Dwarf_Die die = pending_.back();
    pending_.pop_back();
    describe_entry(die);
  }
}

// A type that may have members: called once for each that is walked over or referred to.
void DwarfReader::describe_entry(const Dwarf_Die& die) {
  if (crystal_unions_.contains(die.addr)) return;
  const int tag = tag_of(die);
  if (tag == DW_TAG_pointer_type || tag == DW_TAG_typedef) {
    ref(die);
    return;
  }
  if (has(die, DW_AT_declaration) || has(die, DW_AT_signature)) return;
  const TypeRef at = intern(names_.of(die));
  if (at == kNoType) return;
  refs_[die.addr] = at;
  if (is_repeated(at, die)) return;
  if (tag == DW_TAG_enumeration_type) return describe_enumeration(at, die);
  describe_struct(at, die);
}

bool DwarfReader::is_repeated(TypeRef at, const Dwarf_Die& die) {
  const auto [known, is_new] = described_.try_emplace(at);
  Described& described = known->second;
  if (is_new) {
    described = {die.addr, fingerprint(die), 0};
    return false;
  }
  if (described.at == die.addr) return true;
  ++counts_.repeated;
  if (described.compared >= kMostComparisons) return true;
  ++described.compared;
  if (fingerprint(die) == described.fingerprint) return true;
  described.compared = kMostComparisons;
  if (model_.disagreements.size() < limits_.disagreements) {
    model_.disagreements.push_back(
        fmt::format("{}: two units describe it differently", model_[at].name));
  }
  return true;
}

// A digest of what must be the same in all units: the size, and the names and offsets of the
// members.
std::uint64_t DwarfReader::fingerprint(const Dwarf_Die& die) const {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  constexpr std::size_t kMostCompared = 1000;
  std::uint64_t hash = bytes_of(die).value_or(0) + 1;
  std::size_t count = 0;
  each_child(die, [&](const Dwarf_Die& child) {
    const int tag = tag_of(child);
    const bool counts = (tag == DW_TAG_member && !has(child, DW_AT_declaration)) ||
                        tag == DW_TAG_enumerator || tag == DW_TAG_inheritance;
    if (!counts) return true;
    hash = (hash ^ std::hash<std::string>()(own_name(child))) * kPrime;
    hash = (hash ^ number_at(child, DW_AT_data_member_location).value_or(0)) * kPrime;
    return ++count < kMostCompared;
  });
  return hash;
}

TypeRef DwarfReader::intern(const std::string& name) {
  if (model_.types().size() >= limits_.types) {
    const TypeRef known = model_.find(name);
    if (known == kNoType) ++counts_.left_out;
    return known;
  }
  return model_.intern(name);
}

TypeRef DwarfReader::ref_of_type(const Dwarf_Die& die, int depth) {
  const auto type = die_at(die, DW_AT_type);
  return type ? ref(*type, depth) : kNoType;
}

TypeRef DwarfReader::ref(const Dwarf_Die& die, int depth) {
  if (const auto known = refs_.find(die.addr); known != refs_.end()) return known->second;
  const auto plain = described_type(die);
  if (!plain) return kNoType;
  if (const auto known = refs_.find(plain->addr); known != refs_.end()) return known->second;
  const TypeRef at = depth > kDeepest ? kNoType : intern(names_.of(*plain));
  refs_[die.addr] = at;
  refs_[plain->addr] = at;
  if (at == kNoType) return at;
  if (needs_reading(tag_of(*plain))) {
    if (!described_.contains(at)) pending_.push_back(*plain);
  } else if (described_.try_emplace(at, Described{plain->addr, 0, kMostComparisons}).second) {
    describe(at, *plain, depth + 1);
  }
  return at;
}

void DwarfReader::describe(TypeRef at, const Dwarf_Die& die, int depth) {
  const bool is_crystal = names_.units().language_of(die) == Language::Crystal;
  switch (tag_of(die)) {
    case DW_TAG_pointer_type:
      if (is_crystal) return describe_crystal_pointer(at, die, depth);
      return describe_pointer(at, die, depth);
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type: return describe_pointer(at, die, depth);
    case DW_TAG_ptr_to_member_type:
      // A pointer to a member is an offset, or a function and an offset: the collector sees no
      // pointer in it.
      model_[at].shape = Shape::Number;
      model_[at].encoding = Encoding::Signed;
      model_[at].bytes = kWordBytes;
      if (names_.of(die).ends_with(')')) model_[at].bytes = 2 * kWordBytes;
      return;
    case DW_TAG_array_type: return describe_array(at, die, depth);
    case DW_TAG_base_type: return describe_base(at, die);
    case DW_TAG_typedef: return describe_container(at, die, depth);
    case DW_TAG_unspecified_type:
      if (is_crystal) model_[at].bytes = 0;  // Nil
      if (model_[at].name == "decltype(nullptr)") {
        model_[at].shape = Shape::Number;
        model_[at].bytes = kWordBytes;
      }
      return;
    default: model_[at].bytes = bytes_of(die); return;
  }
}

void DwarfReader::describe_pointer(TypeRef at, const Dwarf_Die& die, int depth) {
  model_[at].shape = Shape::Pointer;
  model_[at].bytes = kWordBytes;
  const auto target = die_at(die, DW_AT_type);
  const auto plain = target ? described_type(*target) : std::nullopt;
  if (!plain) return;
  if (tag_of(*plain) == DW_TAG_subroutine_type) {
    model_[at].shape = Shape::Code;
    return;
  }
  const TypeRef to = ref(*plain, depth);
  model_[at].target = to;
}

void DwarfReader::describe_crystal_pointer(TypeRef at, const Dwarf_Die& die, int depth) {
  model_[at].shape = Shape::Pointer;
  model_[at].bytes = kWordBytes;
  const auto target = die_at(die, DW_AT_type);
  if (!target) return;
  const CrystalPointer kind = crystal_pointer(die);
  if (kind == CrystalPointer::Pointer) {
    // A pointer to an unknown type, like Pointer(Void), is described as one to an address.
    const TypeRef to = ref(*target, depth);
    if (to != kNoType && model_[to].name != "Void") model_[at].target = to;
    return;
  }
  model_[at].is_reference = true;
  std::string name = model_[at].name;
  if (kind == CrystalPointer::Reference) {
    crystal_classes_.insert(target->addr);
    const TypeRef to = ref(*target, depth);
    model_[at].target = to;
    return;
  }
  crystal_unions_.insert(target->addr);
  const auto parts = crystal::union_parts(name);
  if (parts.size() == 1) {
    const TypeRef to = intern(std::string(parts.front()));
    model_[at].target = to;
  }
}

void DwarfReader::describe_array(TypeRef at, const Dwarf_Die& die, int depth) {
  const auto dimensions = dimensions_of(die);
  const TypeRef element = ref_of_type(die, depth);
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const bool is_last = i + 1 == dimensions.size();
    const TypeRef inner = is_last ? element : intern(names_.of_row(die, i + 1));
    Type& array = model_[at];
    array.shape = Shape::Array;
    array.target = inner;
    array.count = dimensions[i];
    if (dimensions[i] == std::uint64_t{0}) array.count = std::nullopt;  // the old flexible array
    if (inner == kNoType) return;
    at = inner;
  }
}

// A typedef that is a type of its own is derived from its structure.
void DwarfReader::describe_container(TypeRef at, const Dwarf_Die& die, int depth) {
  const auto target = without_qualifiers(die);
  if (!target) return;
  Member base;
  base.is_base = true;
  base.type = ref(*target, depth);
  if (base.type == kNoType) return;
  Type& type = model_[at];
  type.shape = Shape::Struct;
  type.bytes = bytes_of(*target);
  type.members = {std::move(base)};
}

void DwarfReader::describe_base(TypeRef at, const Dwarf_Die& die) {
  Type& type = model_[at];
  const std::uint64_t encoding = number_at(die, DW_AT_encoding).value_or(0);
  if (encoding == DW_ATE_address || encoding == DW_ATE_void) return;  // Crystal's Void
  type.shape = Shape::Number;
  type.bytes = bytes_of(die);
  type.encoding = encoding_of(encoding, type.name);
}

}  // namespace heapattach::types
