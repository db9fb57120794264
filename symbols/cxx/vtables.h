#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "symbols/cxx/vtable_search.h"
#include "symbols/elf/module.h"

namespace heapattach::cxx {

// The class of a vtable symbol: "ns::Order" for "_ZTVN2ns5OrderE". Empty if the symbol is not a
// vtable's; the mangled name itself if it is too long or too complex to demangle safely.
std::string class_of_vtable(std::string_view symbol);

// Finds the class of a C++ object by its first word: the address of the class's vtable, or of the
// vtable's part for a base. Built once, from symbols, and for stripped modules from their constants
// (vtable_search.h). Safe to use from several threads at once after that. Empty, and costs next to
// nothing, for programs without C++ classes.
class VtableNames {
 public:
  // Other first words that identify an object's type, each with the type's name.
  using FirstWords = std::vector<std::pair<std::uint64_t, std::string>>;
  VtableNames(const Modules& modules, const MemoryReader& memory, const FirstWords& others = {});
  // Takes symbols in any order, and skips those that overlap or have an impossible size. A vtable
  // that was found without symbols counts if no symbol covers it.
  explicit VtableNames(const std::vector<Symbol>& symbols, const FoundVtables& found = {});

  // "ns::Order<int>" if `word` points to the functions of that class's vtable.
  [[nodiscard]] std::optional<std::string_view> name_of(std::uint64_t word) const;
  // The class's index in names().
  [[nodiscard]] std::optional<std::uint32_t> index_of(std::uint64_t word) const;
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  // The classes that were found without symbols and have derived classes.
  [[nodiscard]] const std::set<std::string>& found_bases() const { return found_bases_; }

 private:
  struct Vtable {
    std::uint64_t first = 0;  // the lowest first word of an object
    std::uint64_t last = 0;   // the highest first word
    std::uint32_t name = 0;
  };

  void add(const std::vector<Symbol>& symbols);
  void add(const FoundVtables& found);
  void add(const FirstWords& others);
  void insert(const std::vector<Vtable>& more);
  // Returns the index of a name, and adds it if it is new.
  std::uint32_t intern(std::string name);

  std::vector<Vtable> vtables_;  // sorted, disjoint
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> index_of_name_;
  std::set<std::string> found_bases_;
};

}  // namespace heapattach::cxx
