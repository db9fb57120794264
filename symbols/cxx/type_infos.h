#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/cxx/constants.h"

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

  // The type_infos that begin with this word say so much of their bases.
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

}  // namespace heapattach::cxx
