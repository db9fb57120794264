#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include <elfutils/libdw.h>

#include "symbols/dwarf/dwarf_unit.h"

namespace heapattach::types {

// The names of the types in a TypeModel, as type_model.h specifies them. The same type has the same
// name in every unit and from every compiler:
//   C       "struct node", "enum color"; without a tag the name of its typedef: "list_t"
//   C++     "ns::Order<int>", "(anonymous namespace)::Cache"; a local type "run::Job"
//   both    "unsigned long", "struct node *", "struct node *[4]", "int (*)(char *)", "void *";
//           without a name of any kind "(struct at list.c:12)"
//   Crystal "Acme::Session" is the class; a reference to it, which is a separate type in a
//           TypeModel, is "Acme::Session *"; "Pointer(Int32)", "(Acme::Session | Nil)",
//           "StaticArray(Int32, 24)" are written as in the language
// Qualifiers and typedefs of named types are omitted.
class DwarfNames {
 public:
  // Uses `dwarf` only to find the language of units that do not state it.
  explicit DwarfNames(Dwarf* dwarf) : units_(dwarf) {}

  // The name of the type `die`. The reference is valid for as long as this object exists.
  const std::string& of(const Dwarf_Die& die);
  // The name of the type of a variable, member or parameter: "void" if it has none.
  const std::string& of_type_of(const Dwarf_Die& die);
  // The name of the element type of an array of several dimensions, from the given dimension on:
  // "int[3]" for 1 of int[2][3].
  std::string of_row(const Dwarf_Die& array, std::size_t dimension);
  // A variable's name with its scopes: "ns::cache".
  [[nodiscard]] std::string of_variable(const Dwarf_Die& die);
  [[nodiscard]] DwarfUnits& units() { return units_; }

 private:
  // The parts before and after the name in a declaration: "int (*" and ")[4]".
  struct Written {
    std::string before;
    std::string after;
  };

  std::string write(const Dwarf_Die& die, std::string declarator, int depth);
  std::string write_target(const Dwarf_Die& die, std::string declarator, int depth);
  std::string write_pointer(const Dwarf_Die& die,
                            std::string_view mark,
                            std::string declarator,
                            int depth);
  std::string write_member_pointer(const Dwarf_Die& die, std::string declarator, int depth);
  std::string write_array(const Dwarf_Die& die,
                          std::string declarator,
                          int depth,
                          std::size_t first_dimension = 0);
  std::string parameters(const Dwarf_Die& function, int depth);
  std::string named(const Dwarf_Die& die, int depth);
  std::string with_numbers_for_enumerators(const Dwarf_Die& die, std::string name, int depth);
  std::string tagged(const Dwarf_Die& die, int depth);
  std::string without_name(const Dwarf_Die& die, int depth);
  std::string in_crystal(const Dwarf_Die& die, int depth);
  std::string static_array(const Dwarf_Die& die, int depth);
  static std::string mixed_value(const Dwarf_Die& die);
  [[nodiscard]] std::string file_and_line(const Dwarf_Die& die) const;
  std::string scopes_of(const Dwarf_Die& die, int depth);
  std::string scopes_from(const DwarfUnit& unit, std::uint32_t scope, int depth);

  DwarfUnits units_;
  std::unordered_map<const void*, std::string> known_;  // by the entry's address
  int steps_ = 0;                                       // so far, for the current name
};

// The type without its qualifiers and typedefs. Nothing if that is void, or if they form a cycle.
[[nodiscard]] std::optional<Dwarf_Die> without_qualifiers(Dwarf_Die die);
// The same, but a typedef that is a type of its own (vlang::is_container) stays.
[[nodiscard]] std::optional<Dwarf_Die> described_type(const Dwarf_Die& die);
// The number of elements in each dimension of an array, outermost first; none: unknown.
[[nodiscard]] std::vector<std::optional<std::uint64_t>> dimensions_of(const Dwarf_Die& array);
// The kind of an entry that is a Crystal pointer.
enum class CrystalPointer : std::uint8_t { Reference, UnionOfReferences, Pointer };
[[nodiscard]] CrystalPointer crystal_pointer(const Dwarf_Die& pointer);

}  // namespace heapattach::types
