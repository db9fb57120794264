#include "symbols/dwarf/dwarf_names.h"

#include <utility>

#include <dwarf.h>
#include <fmt/format.h>

#include "symbols/crystal/type_names.h"
#include "symbols/cxx/class_names.h"

namespace heapattach::types {
namespace {

constexpr int kDeepest = 64;
constexpr int kLongestChain = 64;
constexpr int kMostSteps = 4096;  // for one name
constexpr std::size_t kLongestName = 64U << 10U;
constexpr std::size_t kMostParameters = 64;

std::string cut(std::string name) {
  if (name.size() > kLongestName) name.resize(kLongestName);
  return name;
}

// "node" and "*" to "node *"; "node" and "[4]" to "node[4]".
std::string join(std::string_view name, std::string_view declarator) {
  const bool needs_space = !declarator.empty() && declarator.front() != '[';
  return cut(fmt::format("{}{}{}", name, needs_space ? " " : "", declarator));
}

std::string_view word_for(int tag) {
  switch (tag) {
    case DW_TAG_union_type: return "union";
    case DW_TAG_enumeration_type: return "enum";
    default: return "struct";
  }
}

bool is_qualifier(int tag) {
  return tag == DW_TAG_const_type || tag == DW_TAG_volatile_type || tag == DW_TAG_restrict_type ||
         tag == DW_TAG_atomic_type || tag == DW_TAG_immutable_type || tag == DW_TAG_packed_type ||
         tag == DW_TAG_shared_type;
}

}  // namespace

std::optional<Dwarf_Die> without_qualifiers(Dwarf_Die die) {
  for (int step = 0; step < kLongestChain; ++step) {
    const int tag = tag_of(die);
    if (tag != DW_TAG_typedef && !is_qualifier(tag)) {
      if (!has(die, DW_AT_signature)) return die;
      const auto whole = die_at(die, DW_AT_signature);  // in a type unit
      if (!whole) return die;
      die = *whole;
      continue;
    }
    const auto next = die_at(die, DW_AT_type);
    if (!next) return std::nullopt;
    die = *next;
  }
  return std::nullopt;
}

std::optional<Dwarf_Die> described_type(const Dwarf_Die& die) {
  std::optional<Dwarf_Die> at = die;
  for (int step = 0; at && step < kLongestChain; ++step) {
    const int tag = tag_of(*at);
    if (tag == DW_TAG_typedef && is_container_typedef(*at)) return at;
    if (tag != DW_TAG_typedef && !is_qualifier(tag)) break;
    at = die_at(*at, DW_AT_type);
  }
  return without_qualifiers(die);
}

std::vector<std::optional<std::uint64_t>> dimensions_of(const Dwarf_Die& array) {
  std::vector<std::optional<std::uint64_t>> dimensions;
  each_child(array, [&](const Dwarf_Die& child) {
    if (tag_of(child) != DW_TAG_subrange_type) return true;
    auto count = number_at(child, DW_AT_count);
    const auto last = number_at(child, DW_AT_upper_bound);
    if (!count && last) count = *last + 1 - number_at(child, DW_AT_lower_bound).value_or(0);
    dimensions.push_back(count);
    return dimensions.size() < kMostParameters;
  });
  if (dimensions.empty()) dimensions.emplace_back();
  return dimensions;
}

CrystalPointer crystal_pointer(const Dwarf_Die& pointer) {
  const std::string name = own_name(pointer);
  const auto target = die_at(pointer, DW_AT_type);
  const bool is_reference =
      target && is_aggregate(tag_of(*target)) && !name.empty() && own_name(*target) == name;
  if (!is_reference) return CrystalPointer::Pointer;
  return name.front() == '(' ? CrystalPointer::UnionOfReferences : CrystalPointer::Reference;
}

const std::string& DwarfNames::of(const Dwarf_Die& die) {
  if (const auto known = known_.find(die.addr); known != known_.end()) return known->second;
  steps_ = 0;
  std::string name = write(die, "", 0);
  return known_[die.addr] = std::move(name);
}

const std::string& DwarfNames::of_type_of(const Dwarf_Die& die) {
  static const std::string nothing = "void";
  const auto type = die_at(die, DW_AT_type);
  return type ? of(*type) : nothing;
}

std::string DwarfNames::of_variable(const Dwarf_Die& die) {
  // A definition of a variable that is declared in a scope may have a type of its own, with an
  // array's length.
  Dwarf_Die declared = declaration_of(die);
  declared = die_at(declared, DW_AT_specification).value_or(declared);
  const DwarfUnit& unit = units_.of(declared);
  const DwarfUnit::Entry* entry = unit.find(declared);
  if (entry == nullptr || unit.language() == Language::C) return own_name(die);
  steps_ = 0;
  return cut(scopes_from(unit, entry->scope, 0) + own_name(die));
}

std::string DwarfNames::write(const Dwarf_Die& die, std::string declarator, int depth) {
  if (depth > kDeepest || ++steps_ > kMostSteps) return "(nested too deep)";
  const auto plain = described_type(die);
  if (!plain) return join("void", declarator);
  if (units_.language_of(*plain) == Language::Crystal) {
    return join(in_crystal(*plain, depth), declarator);
  }
  switch (tag_of(*plain)) {
    case DW_TAG_pointer_type: return write_pointer(*plain, "*", std::move(declarator), depth);
    case DW_TAG_reference_type: return write_pointer(*plain, "&", std::move(declarator), depth);
    case DW_TAG_rvalue_reference_type:
      return write_pointer(*plain, "&&", std::move(declarator), depth);
    case DW_TAG_ptr_to_member_type:
      return write_member_pointer(*plain, std::move(declarator), depth);
    case DW_TAG_array_type: return write_array(*plain, std::move(declarator), depth);
    case DW_TAG_subroutine_type:
      return write_target(*plain, declarator + parameters(*plain, depth), depth);
    default: return join(named(*plain, depth), declarator);
  }
}

// The rest of a declaration whose entry refers to its target type.
std::string DwarfNames::write_target(const Dwarf_Die& die, std::string declarator, int depth) {
  const auto target = die_at(die, DW_AT_type);
  if (!target) return join("void", declarator);
  if (declarator.size() > kLongestName) return "(too long)";
  return write(*target, std::move(declarator), depth + 1);
}

std::string DwarfNames::write_pointer(const Dwarf_Die& die,
                                      std::string_view mark,
                                      std::string declarator,
                                      int depth) {
  std::string written = fmt::format("{}{}", mark, declarator);
  if (const auto target = die_at(die, DW_AT_type)) {
    const auto plain = without_qualifiers(*target);
    const int tag = plain ? tag_of(*plain) : 0;
    if (tag == DW_TAG_array_type || tag == DW_TAG_subroutine_type) {
      written = fmt::format("({})", written);
    }
  }
  return write_target(die, std::move(written), depth);
}

std::string DwarfNames::write_member_pointer(const Dwarf_Die& die,
                                             std::string declarator,
                                             int depth) {
  const auto container = die_at(die, DW_AT_containing_type);
  std::string written = fmt::format(
      "{}::*{}", container ? write(*container, "", depth + 1) : std::string("?"), declarator);
  if (const auto target = die_at(die, DW_AT_type)) {
    const auto plain = without_qualifiers(*target);
    if (plain && tag_of(*plain) == DW_TAG_subroutine_type) written = fmt::format("({})", written);
  }
  return write_target(die, std::move(written), depth);
}

std::string DwarfNames::write_array(const Dwarf_Die& die,
                                    std::string declarator,
                                    int depth,
                                    std::size_t first_dimension) {
  const auto dimensions = dimensions_of(die);
  for (std::size_t i = first_dimension; i < dimensions.size(); ++i) {
    declarator += dimensions[i] ? fmt::format("[{}]", *dimensions[i]) : std::string("[]");
  }
  return write_target(die, std::move(declarator), depth);
}

std::string DwarfNames::of_row(const Dwarf_Die& array, std::size_t dimension) {
  steps_ = 0;
  return write_array(array, "", 0, dimension);
}

std::string DwarfNames::parameters(const Dwarf_Die& function, int depth) {
  std::string list;
  std::size_t count = 0;
  each_child(function, [&](const Dwarf_Die& child) {
    const int tag = tag_of(child);
    const bool is_parameter =
        tag == DW_TAG_formal_parameter || tag == DW_TAG_unspecified_parameters;
    if (!is_parameter || has(child, DW_AT_artificial)) return true;  // this
    const auto type = die_at(child, DW_AT_type);
    list += list.empty() ? "" : ", ";
    list += type ? write(*type, "", depth + 1) : std::string("...");
    return ++count < kMostParameters && list.size() < kLongestName;
  });
  return cut(fmt::format("({})", list));
}

std::string DwarfNames::named(const Dwarf_Die& die, int depth) {
  const int tag = tag_of(die);
  if (is_aggregate(tag) || tag == DW_TAG_enumeration_type) return tagged(die, depth);
  std::string name = own_name(die);
  if (tag == DW_TAG_base_type) return cxx::one_spelling(name);
  return name.empty() ? "(unknown type)" : name;
}

std::string DwarfNames::tagged(const Dwarf_Die& die, int depth) {
  const std::string name = own_name(die);
  if (name.empty() || name.starts_with("<lambda")) return without_name(die, depth);
  if (units_.language_of(die) == Language::C) {
    return fmt::format("{} {}", word_for(tag_of(die)), name);
  }
  return cut(scopes_of(die, depth) +
             with_numbers_for_enumerators(die, cxx::one_spelling(name), depth));
}

std::string DwarfNames::without_name(const Dwarf_Die& die, int depth) {
  const DwarfUnit& unit = units_.of(die);
  if (const DwarfUnit::Entry* entry = unit.typedef_of(die)) {
    std::string name = own_name(entry->die);
    if (unit.language() == Language::C) return name;
    return cut(scopes_from(unit, entry->scope, depth) + name);
  }
  if (std::string name = units_.typedef_elsewhere(die); !name.empty()) return name;
  const bool is_lambda = tag_of(die) != DW_TAG_enumeration_type && !own_name(die).empty();
  const std::string_view word = is_lambda ? "lambda" : word_for(tag_of(die));
  // All instances of a template have its types at one location.
  std::string scopes = unit.language() == Language::C ? std::string() : scopes_of(die, depth);
  return cut(fmt::format("{}({} at {})", scopes, word, file_and_line(die)));
}

std::string DwarfNames::file_and_line(const Dwarf_Die& die) const {
  Dwarf_Die at = die;
  const char* path = units_.file_of(die);
  int line = 0;
  if (path == nullptr || dwarf_decl_line(&at, &line) != 0) return "an unknown location";
  const std::string_view file(path);
  return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), line);
}

// The entry that declares a member class is in its scope; the one that defines it may be elsewhere.
std::string DwarfNames::scopes_of(const Dwarf_Die& die, int depth) {
  const Dwarf_Die declared = die_at(die, DW_AT_specification).value_or(die);
  const DwarfUnit& unit = units_.of(declared);
  const DwarfUnit::Entry* entry = unit.find(declared);
  return entry == nullptr ? std::string() : scopes_from(unit, entry->scope, depth);
}

// "ns::Outer::", or nothing.
std::string DwarfNames::scopes_from(const DwarfUnit& unit, std::uint32_t scope, int depth) {
  if (scope == DwarfUnit::kNoScope || depth > kDeepest) return {};
  const DwarfUnit::Scope& at = unit.scope(scope);
  const int tag = tag_of(at.die);
  if (is_aggregate(tag)) {
    const auto known = known_.find(at.die.addr);
    return (known != known_.end() ? known->second : write(at.die, "", depth + 1)) + "::";
  }
  std::string name = own_name(at.die);
  if (unit.language() != Language::Crystal) name = cxx::one_spelling(name);
  if (tag == DW_TAG_namespace && name.empty()) name = "(anonymous namespace)";
  std::string outer = scopes_from(unit, at.parent, depth + 1);
  return name.empty() ? outer : cut(std::move(outer) + name) + "::";
}

std::string DwarfNames::in_crystal(const Dwarf_Die& die, int depth) {
  std::string name = crystal::canonical_name(own_name(die));
  const int tag = tag_of(die);
  if (tag == DW_TAG_pointer_type) {
    if (name.empty()) return write_target(die, "*", depth);
    if (crystal_pointer(die) == CrystalPointer::Reference) return crystal::reference_to(name);
    return name;
  }
  if (tag == DW_TAG_array_type) return static_array(die, depth);
  if (tag == DW_TAG_union_type && name.empty()) return mixed_value(die);
  if (tag == DW_TAG_unspecified_type) return "Nil";
  if (name == "char32_t") return "Char";
  return name.empty() ? "(unknown type)" : name;
}

std::string DwarfNames::static_array(const Dwarf_Die& die, int depth) {
  const auto element = die_at(die, DW_AT_type);
  std::string of_what = element ? write(*element, "", depth + 1) : std::string("Void");
  if (of_what.ends_with(" *")) of_what.resize(of_what.size() - 2);  // a reference
  return fmt::format("StaticArray({}, {})", of_what, dimensions_of(die).front().value_or(0));
}

// The value of a mixed union, whose members are named after their types.
std::string DwarfNames::mixed_value(const Dwarf_Die& die) {
  std::string list;
  each_child(die, [&](const Dwarf_Die& child) {
    list += (list.empty() ? "" : " | ") + crystal::canonical_name(own_name(child));
    return list.size() < kLongestName;
  });
  return cut(fmt::format("(value of {})", list));
}

}  // namespace heapattach::types
