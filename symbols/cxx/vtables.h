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
// part of it that belongs to one of its bases. Built once from symbols, and for modules that were
// stripped from their constants (vtable_search.h); then safe to use from several threads at once.
// Empty, and costs next to nothing, for programs without C++ classes.
class VtableNames {
 public:
  // `others` are what else objects begin with that names their type, and its name.
  using FirstWords = std::vector<std::pair<std::uint64_t, std::string>>;
  VtableNames(const Modules& modules, const MemoryReader& memory, const FirstWords& others = {});
  // From symbols in any order; skips those that overlap or have an impossible size. What was found
  // without symbols counts outside of those.
  explicit VtableNames(const std::vector<Symbol>& symbols, const FoundVtables& found = {});

  // "ns::Order<int>", if `word` points to the functions of a vtable.
  [[nodiscard]] std::optional<std::string_view> name_of(std::uint64_t word) const;
  // The class's index in names().
  [[nodiscard]] std::optional<std::uint32_t> index_of(std::uint64_t word) const;
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  // The classes that were found without symbols and from which others are derived.
  [[nodiscard]] const std::set<std::string>& found_bases() const { return found_bases_; }

 private:
  struct Vtable {
    std::uint64_t first = 0;  // the lowest word that an object may contain, and …
    std::uint64_t last = 0;   // the highest
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
