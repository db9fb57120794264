#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "symbols/cxx/constants.h"
#include "symbols/elf/module.h"

namespace heapattach::cxx {

// The type_info objects of a program's classes, which say what a class is called and what it is
// derived from. They are in every program that was not compiled with -fno-rtti, and are recognised
// by their form, without symbols. Borrows the constants.
class TypeInfos {
 public:
  // How many bases a class has, by the class of its type_info.
  enum class Bases : std::uint8_t { None, One, Many };

  struct Class {
    std::string mangled;               // "N2ns5OrderE"
    std::vector<std::uint64_t> bases;  // their type_infos
  };

  explicit TypeInfos(const Constants& constants) : constants_(constants) {}

  // Type_infos that begin with this word describe `bases` in this way.
  void add_form(std::uint64_t first_word, Bases bases) { forms_[first_word] = bases; }
  [[nodiscard]] bool knows_forms() const { return !forms_.empty(); }

  // The class whose type_info is at `at`; null if there is none of a known form.
  const Class* find(std::uint64_t at);
  // The name of a type_info in memory, whatever its form; empty if it has none.
  [[nodiscard]] std::string name_in(std::uint64_t at) const;

 private:
  [[nodiscard]] bool read(std::uint64_t at, Class& found) const;
  [[nodiscard]] bool read_bases(std::uint64_t at, Class& found) const;
  [[nodiscard]] bool is_base(std::uint64_t at) const;

  const Constants& constants_;
  std::map<std::uint64_t, Bases> forms_;    // by the first word
  std::map<std::uint64_t, Class> classes_;  // without a name: none is there
};

// The vtables of modules whose symbols were stripped, found by their form.
struct FoundVtables {
  struct Vtable {
    std::uint64_t functions = 0;  // what objects of the class begin with
    std::string mangled;          // the class: "N2ns5OrderE"
  };
  std::vector<Vtable> vtables;  // by address
  std::set<std::string> bases;  // the mangled names of classes from which others are derived
};

// Searches the constants of modules that have no complete table of symbols and are not the
// system's. A table counts if the type_info that it names proves to be one. Leaves out tables for
// which `is_known` returns true, given the address that objects begin with; it may be empty.
[[nodiscard]] FoundVtables search_vtables(const Modules& modules,
                                          const MemoryReader& memory,
                                          const std::function<bool(std::uint64_t)>& is_known = {});

// A module of the system, or one that contains no C++.
[[nodiscard]] bool is_without_classes(const Module& module);

}  // namespace heapattach::cxx
