#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/elf/module.h"

namespace heapattach::cxx {

// The class of a vtable symbol: "ns::Order" for "_ZTVN2ns5OrderE". Empty if the symbol is not a
// vtable's; the mangled name itself if it is too long or too complex to demangle safely.
std::string class_of_vtable(std::string_view symbol);

// Finds the class of a C++ object by its first word: the address of the class's vtable, or of the
// part of it that belongs to one of its bases. Built once from symbols; then safe to use from
// several threads at once. Empty, and costs nothing, for programs without C++ classes.
class VtableNames {
 public:
  explicit VtableNames(const Modules& modules);
  // From symbols in any order; skips those that overlap or have an impossible size.
  explicit VtableNames(const std::vector<Symbol>& symbols);

  // "ns::Order<int>", if `word` points to the functions of a vtable.
  [[nodiscard]] std::optional<std::string_view> name_of(std::uint64_t word) const;
  // The same as an index into names().
  [[nodiscard]] std::optional<std::uint32_t> index_of(std::uint64_t word) const;
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  struct Vtable {
    std::uint64_t first = 0;  // the lowest word that an object may contain, and …
    std::uint64_t last = 0;   // the highest
    std::uint32_t name = 0;
  };

  void add(const std::vector<Symbol>& symbols);

  std::vector<Vtable> vtables_;  // sorted, disjoint
  std::vector<std::string> names_;
};

}  // namespace heapattach::cxx
