#include <dwarf.h>
#include <fmt/format.h>

#include "symbols/dwarf/dwarf_names.h"

// clang writes "Lock<ns::Atomic>" for a class whose argument is an enumerator; everything else,
// including the demangler of vtables' names, writes "Lock<(ns::Policy)2>".

namespace heapattach::types {
namespace {

constexpr std::size_t kMostEnumerators = 256;

bool is_of_list(char c) {
  return c == '<' || c == '>' || c == ',' || c == ' ';
}

// The position of `word` as a template argument in `name`; npos if it is not one.
std::size_t argument_at(std::string_view name, std::string_view word) {
  for (std::size_t at = name.find(word, 1); at < name.size() && !word.empty();
       at = name.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if (is_of_list(name[at - 1]) && end < name.size() && is_of_list(name[end])) return at;
  }
  return std::string_view::npos;
}

// The constants of an enumeration that have this value.
std::vector<std::string> names_of_value(const Dwarf_Die& enumeration, std::uint64_t value) {
  std::vector<std::string> names;
  std::size_t count = 0;
  each_child(enumeration, [&](const Dwarf_Die& child) {
    if (number_at(child, DW_AT_const_value) == value) names.push_back(own_name(child));
    return ++count < kMostEnumerators;
  });
  return names;
}

}  // namespace

// clang puts a template's parameters before everything else in the class. g++, which writes
// numbers, puts them last, so this costs nothing there.
std::string DwarfNames::with_numbers_for_enumerators(const Dwarf_Die& die,
                                                     std::string name,
                                                     int depth) {
  if (!name.ends_with('>')) return name;
  each_child(die, [&](const Dwarf_Die& child) {
    const int tag = tag_of(child);
    if (tag == DW_TAG_template_type_parameter) return true;
    if (tag != DW_TAG_template_value_parameter) return false;
    const auto type = die_at(child, DW_AT_type);
    const auto enumeration = type ? without_qualifiers(*type) : std::nullopt;
    const auto value = number_at(child, DW_AT_const_value);
    if (!value || !enumeration || tag_of(*enumeration) != DW_TAG_enumeration_type) return true;
    const std::string of_what = write(*enumeration, "", depth + 1);
    const std::size_t outer = of_what.rfind("::");
    std::string scope = outer == std::string::npos ? "" : of_what.substr(0, outer + 2);
    if (has(*enumeration, DW_AT_enum_class)) scope = of_what + "::";
    for (const std::string& word : names_of_value(*enumeration, *value)) {
      const std::string written = scope + word;
      const std::size_t at = argument_at(name, written);
      if (at == std::string::npos) continue;
      name.replace(at, written.size(), fmt::format("({}){}", of_what, *value));
      break;
    }
    return true;
  });
  return name;
}

}  // namespace heapattach::types
