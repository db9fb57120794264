#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/elf/module.h"

namespace heapattach::cxx {

// The class whose vtable a symbol such as "_ZTVN2ns5OrderE" names: "ns::Order". Empty if the symbol
// is not a vtable's; the mangled name itself if it is too long or too complex to demangle safely.
std::string class_of_vtable(std::string_view symbol);

// The classes of C++ objects by their first word: the address of a vtable of the class, or of the
// part of it that belongs to one of its bases. Built from symbols once, then safe to use from
// several threads at once. Empty, and free of cost, for programs without classes of their own.
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
