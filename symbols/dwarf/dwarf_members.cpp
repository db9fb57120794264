#include <algorithm>
#include <utility>

#include <dwarf.h>
#include <fmt/format.h>

#include "attach/base/word.h"
#include "symbols/crystal/type_names.h"
#include "symbols/dwarf/dwarf_reader.h"
#include "symbols/dwarf/member_places.h"

namespace heapattach::types {
namespace {

constexpr std::uint64_t kLargestType = std::uint64_t{1} << 40;

// Compilers write a negative value as such, and every other one in as many bytes as it needs.
std::optional<std::int64_t> value_of(Dwarf_Attribute& attribute) {
  const unsigned form = dwarf_whatform(&attribute);
  Dwarf_Sword with_sign = 0;
  Dwarf_Word without = 0;
  const bool is_signed = form == DW_FORM_sdata || form == DW_FORM_implicit_const;
  if (is_signed)
    return dwarf_formsdata(&attribute, &with_sign) == 0 ? std::optional(with_sign) : std::nullopt;
  if (dwarf_formudata(&attribute, &without) != 0) return std::nullopt;
  return static_cast<std::int64_t>(without);
}

bool is_static(const Dwarf_Die& die) {
  return has(die, DW_AT_external) || has(die, DW_AT_declaration);
}

}  // namespace

void DwarfReader::describe_struct(TypeRef at, const Dwarf_Die& die) {
  const bool is_crystal = names_.units().language_of(die) == Language::Crystal;
  const bool is_class = is_crystal && crystal_classes_.contains(die.addr);
  const std::string name = model_[at].name;
  std::vector<Member> members;
  bool has_table = has(die, DW_AT_containing_type);
  bool is_mixed = is_crystal && (name.starts_with('(') || name.starts_with("NamedTuple("));
  is_mixed = is_mixed || (is_crystal && tag_of(die) == DW_TAG_union_type);
  each_child(die, [&](const Dwarf_Die& child) {
    const int tag = tag_of(child);
    if (tag != DW_TAG_member && tag != DW_TAG_inheritance) return true;
    if (tag == DW_TAG_member && is_static(child)) return true;
    if (members.size() >= limits_.members_of_one || members_ >= limits_.members) {
      ++counts_.left_out;
      return false;
    }
    const bool is_virtual = tag == DW_TAG_inheritance && !is_crystal &&
                            number_at(child, DW_AT_virtuality).value_or(0) != 0;
    if (is_virtual) {
      add_virtual_base(at, child);
      return true;
    }
    add_member(members, child, is_crystal && !is_mixed);
    if (!members.empty() && members.back().name.starts_with("_vptr")) has_table = true;
    return true;
  });
  members_ += members.size();
  std::stable_sort(members.begin(), members.end(),
                   [](const Member& a, const Member& b) { return a.offset < b.offset; });
  if (is_mixed && describe_union_of_references(at, members)) return;
  Type& type = model_[at];
  type.shape = tag_of(die) == DW_TAG_union_type ? Shape::Union : Shape::Struct;
  if (is_class) type.shape = Shape::Struct;
  type.bytes = number_at(die, DW_AT_byte_size);
  if (type.bytes > kLargestType) type.bytes = std::nullopt;
  type.has_header = is_class || (!is_crystal && has_table);
  type.members = std::move(members);
  const auto parts = crystal::union_parts(name);
  const bool is_proc = is_crystal && parts.size() == 1 && parts.front().starts_with("Proc(");
  if (is_proc && type.members.empty()) describe_proc(at);
}

void DwarfReader::add_member(std::vector<Member>& members,
                             const Dwarf_Die& die,
                             bool is_crystal_field) {
  Member member;
  member.is_base = tag_of(die) == DW_TAG_inheritance;
  const bool is_crystal = names_.units().language_of(die) == Language::Crystal;
  const auto offset = is_crystal ? offset_of_crystal_member(die) : offset_of_member(die);
  if (!offset) {
    ++counts_.no_place;
    return;
  }
  member.offset = *offset;
  if (!member.is_base) member.name = own_name(die);
  // Members of tuples are "[0]".
  if (is_crystal_field && !member.name.starts_with('[')) member.name = "@" + member.name;
  if (!is_crystal) place_bits(die, member);
  member.type = ref_of_type(die, 0);
  members.push_back(std::move(member));
}

// A class may appear in many units. Only the first description gets here.
void DwarfReader::add_virtual_base(TypeRef at, const Dwarf_Die& die) {
  const auto slot = slot_of_virtual_base(die);
  const TypeRef type = ref_of_type(die, 0);
  if (!slot || type == kNoType) {
    ++counts_.no_place;
    return;
  }
  model_[at].virtual_bases.push_back({type, *slot});
  ++members_;
}

// "(Exception | Nil)" may be described as a union of all its possible types, each a reference.
bool DwarfReader::describe_union_of_references(TypeRef at, const std::vector<Member>& members) {
  const bool are_references =
      !members.empty() && std::all_of(members.begin(), members.end(), [this](const Member& member) {
        return member.type != kNoType && model_[member.type].is_reference;
      });
  if (!are_references || !model_[at].name.starts_with('(') ||
      model_[at].name.starts_with("(value of ")) {
    return false;
  }
  const std::string name = model_[at].name;
  model_[at].shape = Shape::Pointer;
  model_[at].bytes = kWordBytes;
  model_[at].is_reference = true;
  const auto parts = crystal::union_parts(name);
  const TypeRef only = parts.size() == 1 ? intern(std::string(parts.front())) : kNoType;
  model_[at].target = only;
  return true;
}

// A function and its captured data, about which debug information says nothing.
void DwarfReader::describe_proc(TypeRef at) {
  const TypeRef code = intern("(code)");
  const TypeRef data = intern("Pointer(Void)");
  if (code == kNoType || data == kNoType) return;
  model_[code].shape = Shape::Code;
  model_[code].bytes = kWordBytes;
  model_[data].shape = Shape::Pointer;
  model_[data].bytes = kWordBytes;
  model_[at].bytes = 2 * kWordBytes;
  model_[at].members = {{"@pointer", 0, code}, {"@closure_data", kWordBytes, data}};
}

void DwarfReader::describe_enumeration(TypeRef at, const Dwarf_Die& die) {
  std::vector<Enumerator> enumerators;
  each_child(die, [&](const Dwarf_Die& child) {
    if (tag_of(child) != DW_TAG_enumerator) return true;
    Dwarf_Die entry = child;
    Dwarf_Attribute attribute;
    if (dwarf_attr(&entry, DW_AT_const_value, &attribute) == nullptr) return true;
    if (const auto value = value_of(attribute)) enumerators.push_back({own_name(child), *value});
    ++members_;
    return enumerators.size() < limits_.members_of_one && members_ < limits_.members;
  });
  std::stable_sort(enumerators.begin(), enumerators.end(),
                   [](const Enumerator& a, const Enumerator& b) { return a.value < b.value; });
  const bool is_signed = !enumerators.empty() && enumerators.front().value < 0;
  Type& type = model_[at];
  type.shape = Shape::Enumeration;
  type.encoding = is_signed ? Encoding::Signed : Encoding::Unsigned;
  type.bytes = number_at(die, DW_AT_byte_size);
  type.enumerators = std::move(enumerators);
}

}  // namespace heapattach::types
