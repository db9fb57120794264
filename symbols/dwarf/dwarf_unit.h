#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <elfutils/libdw.h>

#include "symbols/elf/dwarf_entry.h"

namespace heapattach::types {

enum class Language : std::uint8_t { C, Cxx, Crystal, Other };

// Whether a typedef is a type of its own, because its name says more than its structure.
[[nodiscard]] bool is_container_typedef(const Dwarf_Die& die);

// The types and variables that one unit of debug information describes, and their scopes. Built in
// a single pass over the unit, because DWARF entries do not know their parents.
class DwarfUnit {
 public:
  static constexpr std::uint32_t kNoScope = 0xffffffff;

  struct Scope {
    Dwarf_Die die{};
    std::uint32_t parent = kNoScope;
    bool is_function = false;
  };
  struct Entry {
    Dwarf_Die die{};
    std::uint32_t scope = kNoScope;
  };

  DwarfUnit(Dwarf_Die root, Language language);

  [[nodiscard]] Language language() const { return language_; }
  [[nodiscard]] Dwarf_Die root() const { return root_; }
  // Structures, unions, classes and enumerations, and in Crystal units pointers too, by address.
  [[nodiscard]] const std::vector<Entry>& types() const { return types_; }
  [[nodiscard]] const std::vector<Entry>& variables() const { return variables_; }
  [[nodiscard]] const Scope& scope(std::uint32_t at) const { return scopes_[at]; }
  // The matching entry; null if there is none.
  [[nodiscard]] const Entry* find(const Dwarf_Die& die) const;
  // The typedef that names a type without a tag, if one does.
  [[nodiscard]] const Entry* typedef_of(const Dwarf_Die& die) const;
  [[nodiscard]] bool is_cut_off() const { return is_cut_off_; }  // nested too deep

 private:
  void walk(Dwarf_Die parent, std::uint32_t scope, int depth);
  void take(Dwarf_Die die, std::uint32_t scope, int depth);
  void take_typedef(Dwarf_Die die, std::uint32_t scope);

  Dwarf_Die root_;
  Language language_;
  bool is_cut_off_ = false;
  const void* last_ = nullptr;  // entry walked over
  std::vector<Scope> scopes_;
  std::vector<Entry> types_;
  std::vector<Entry> variables_;
  std::unordered_map<const void*, Entry> typedefs_;
};

// The units of a debug information file and of the files that it refers to (supplementary file,
// type units, split DWARF units), each read on first use.
class DwarfUnits {
 public:
  // `dwarf` may be null: then the language of partial units is unknown.
  explicit DwarfUnits(Dwarf* dwarf) : dwarf_(dwarf) {}

  // The unit that contains an entry. The reference is valid until forget() or the end.
  const DwarfUnit& of(const Dwarf_Die& die);
  [[nodiscard]] Language language_of(const Dwarf_Die& die);
  void forget(const Dwarf_Die& die);
  // The name that a typedef in another unit gives to an untagged type in a type unit
  // (-fdebug-types-section); empty if there is none.
  [[nodiscard]] std::string typedef_elsewhere(const Dwarf_Die& die);
  // Registers the skeleton of the split unit with the root `split`. The skeleton may contain the
  // list of files.
  void set_skeleton(const Dwarf_Die& split, const Dwarf_Die& skeleton);
  // The path of the file that declares an entry; null if unknown.
  [[nodiscard]] const char* file_of(const Dwarf_Die& die) const;

 private:
  using Typedefs = std::unordered_map<const void*, std::string>;  // by the type's address

  static Typedefs learn_typedefs(Dwarf* dwarf);
  Language language_of_root(Dwarf_Die root);
  void learn_imports();
  void learn_imports_of(Dwarf_Die root, Language language);

  Dwarf* dwarf_;
  std::unordered_map<const void*, std::unique_ptr<DwarfUnit>> units_;  // by Dwarf_CU
  std::unordered_map<const void*, Language> languages_;                // by Dwarf_CU
  std::unordered_map<const void*, Dwarf_Die> skeletons_;               // by Dwarf_CU
  std::optional<std::unordered_map<const void*, Language>> imported_;  // by the root's address
  std::unordered_map<const void*, Typedefs> typedefs_;                 // by Dwarf
};

}  // namespace heapattach::types
