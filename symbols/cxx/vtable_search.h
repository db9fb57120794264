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

// The type_info objects of a program's classes. A type_info has the name of its class and
// references the type_infos of the class's bases. Every program has them unless it was compiled
// with -fno-rtti. They are recognised by their form, without symbols. Borrows the constants.
class TypeInfos {
 public:
  // How many bases a class has, by the class of its type_info.
  enum class Bases : std::uint8_t { None, One, Many };

  struct Class {
    std::string mangled;               // "N2ns5OrderE"
    std::vector<std::uint64_t> bases;  // their type_infos
  };

  explicit TypeInfos(const Constants& constants) : constants_(constants) {}

  // Adds a form: type_infos that begin with this word describe classes with `bases`.
  void add_form(std::uint64_t first_word, Bases bases) { forms_[first_word] = bases; }
  [[nodiscard]] bool knows_forms() const { return !forms_.empty(); }

  // The class whose type_info is at `at`; null if no type_info of a known form is there.
  const Class* find(std::uint64_t at);
  // The name of a type_info in memory, whatever its form; empty if it has none.
  [[nodiscard]] std::string name_in(std::uint64_t at) const;

 private:
  [[nodiscard]] bool read(std::uint64_t at, Class& found) const;
  [[nodiscard]] bool read_bases(std::uint64_t at, Class& found) const;
  [[nodiscard]] bool is_base(std::uint64_t at) const;

  const Constants& constants_;
  std::map<std::uint64_t, Bases> forms_;    // by the first word
  std::map<std::uint64_t, Class> classes_;  // by address; without a name: not a type_info
};

// The vtables of modules whose symbols were stripped, found by their form.
struct FoundVtables {
  struct Vtable {
    std::uint64_t functions = 0;  // the first word of each object of the class
    std::string mangled;          // the class: "N2ns5OrderE"
  };
  std::vector<Vtable> vtables;  // by address
  std::set<std::string> bases;  // the mangled names of all classes with derived classes
};

// Searches the constants of all modules but the system's and those with a complete table of
// symbols. A vtable counts if the type_info that it references proves to be one. Leaves out vtables
// for which `is_known` returns true; its argument is the address of the vtable's functions, and it
// may be empty.
[[nodiscard]] FoundVtables search_vtables(const Modules& modules,
                                          const MemoryReader& memory,
                                          const std::function<bool(std::uint64_t)>& is_known = {});

// Whether a module is a library of the system that contains no classes of the program.
[[nodiscard]] bool is_without_classes(const Module& module);

}  // namespace heapattach::cxx
