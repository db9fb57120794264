#include "symbols/dwarf/dwarf_unit.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>

#include <dwarf.h>

#include "symbols/vlang/types.h"

namespace heapattach::types {
namespace {

constexpr int kDeepest = 128;

// libdw takes no const DIE, although it changes only a cached abbreviation in it.
Dwarf_Die* open(const Dwarf_Die& die) {
  return const_cast<Dwarf_Die*>(&die);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

bool by_address(const DwarfUnit::Entry& entry, const void* address) {
  return std::less<>()(static_cast<const void*>(entry.die.addr), address);
}

bool is_function(int tag) {
  return tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block ||
         tag == DW_TAG_inlined_subroutine || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

Language language_from(std::uint64_t number) {
  switch (number) {
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11: return Language::C;
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14: return Language::Cxx;
    default: break;
  }
  // C17, C++17 and C++20 have numbers that libdw 0.188 has no names for.
  if (number == 0x2c || number == 0x3e) return Language::C;
  if (number == 0x2a || number == 0x2b || number == 0x3a) return Language::Cxx;
  if (number == 0x0028) return Language::Crystal;
  return Language::Other;
}

}  // namespace

bool is_container_typedef(const Dwarf_Die& die) {
  auto target = die_at(die, DW_AT_type);
  if (target && tag_of(*target) == DW_TAG_typedef) target = die_at(*target, DW_AT_type);
  return target && tag_of(*target) == DW_TAG_structure_type &&
         vlang::is_container(own_name(die), own_name(*target));
}

DwarfUnit::DwarfUnit(Dwarf_Die root, Language language) : root_(root), language_(language) {
  walk(root, kNoScope, 0);
}

void DwarfUnit::walk(Dwarf_Die parent, std::uint32_t scope, int depth) {
  if (depth > kDeepest) {
    is_cut_off_ = true;
    return;
  }
  Dwarf_Die child;
  if (dwarf_child(&parent, &child) != 0) return;
  do {
    take(child, scope, depth);
  } while (to_sibling(child));
}

void DwarfUnit::take(Dwarf_Die die, std::uint32_t scope, int depth) {
  // Entries come in walk order. A false reference to a sibling could repeat the same ones over and
  // over.
  if (!std::less<>()(last_, static_cast<const void*>(die.addr))) return;
  last_ = die.addr;
  const int tag = dwarf_tag(&die);
  const bool is_type = is_aggregate(tag) || tag == DW_TAG_enumeration_type;
  const bool is_container = tag == DW_TAG_typedef && is_container_typedef(die);
  if (is_type || is_container || (tag == DW_TAG_pointer_type && language_ == Language::Crystal)) {
    types_.push_back({die, scope});
  }
  // Before DWARF 5 a static member is declared as a member.
  const bool is_variable =
      tag == DW_TAG_variable || (tag == DW_TAG_member && has(die, DW_AT_declaration));
  if (is_variable) variables_.push_back({die, scope});
  if (tag == DW_TAG_typedef) take_typedef(die, scope);
  const bool opens_scope =
      is_aggregate(tag) || tag == DW_TAG_namespace || tag == DW_TAG_module || is_function(tag);
  if (!opens_scope || dwarf_haschildren(&die) <= 0) return;
  // Crystal nests only members; its functions contain no types.
  if (language_ == Language::Crystal && is_aggregate(tag)) return;
  scopes_.push_back({die, scope, is_function(tag)});
  walk(die, static_cast<std::uint32_t>(scopes_.size() - 1), depth + 1);
}

void DwarfUnit::take_typedef(Dwarf_Die die, std::uint32_t scope) {
  const auto target = die_at(die, DW_AT_type);
  if (!target) return;
  const int tag = tag_of(*target);
  if (!is_aggregate(tag) && tag != DW_TAG_enumeration_type) return;
  if (dwarf_diename(open(*target)) != nullptr) return;
  typedefs_.try_emplace(target->addr, Entry{die, scope});
}

const DwarfUnit::Entry* DwarfUnit::find(const Dwarf_Die& die) const {
  for (const auto* entries : {&types_, &variables_}) {
    const auto at = std::lower_bound(entries->begin(), entries->end(), die.addr, by_address);
    if (at != entries->end() && at->die.addr == die.addr) return &*at;
  }
  return nullptr;
}

const DwarfUnit::Entry* DwarfUnit::typedef_of(const Dwarf_Die& die) const {
  const auto at = typedefs_.find(die.addr);
  return at == typedefs_.end() ? nullptr : &at->second;
}

const DwarfUnit& DwarfUnits::of(const Dwarf_Die& die) {
  std::unique_ptr<DwarfUnit>& unit = units_[die.cu];
  if (unit == nullptr) {
    Dwarf_Die root{};
    if (dwarf_cu_die(die.cu, &root, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) ==
        nullptr) {
      root = die;
    }
    unit = std::make_unique<DwarfUnit>(root, language_of(die));
  }
  return *unit;
}

void DwarfUnits::forget(const Dwarf_Die& die) {
  units_.erase(die.cu);
}

Language DwarfUnits::language_of(const Dwarf_Die& die) {
  const auto [known, is_new] = languages_.try_emplace(die.cu, Language::Other);
  if (!is_new) return known->second;
  Dwarf_Die root{};
  if (dwarf_cu_die(die.cu, &root, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) !=
      nullptr) {
    const Language language = language_of_root(root);
    languages_[die.cu] = language;  // the other reference may have become invalid
    return language;
  }
  return Language::Other;
}

Language DwarfUnits::language_of_root(Dwarf_Die root) {
  // Crystal's compiler writes the number of C or C++, as its LLVM allows.
  Dwarf_Attribute attribute;
  const char* producer = dwarf_formstring(dwarf_attr_integrate(&root, DW_AT_producer, &attribute));
  if (producer != nullptr && std::string_view(producer).starts_with("Crystal")) {
    return Language::Crystal;
  }
  Dwarf_Word number = 0;
  if (dwarf_formudata(dwarf_attr_integrate(&root, DW_AT_language, &attribute), &number) == 0) {
    return language_from(number);
  }
  // In dwz's output, the units that import shared ones state the language.
  if (!imported_) learn_imports();
  const auto found = imported_->find(root.addr);
  return found == imported_->end() ? Language::Other : found->second;
}

std::string DwarfUnits::typedef_elsewhere(const Dwarf_Die& die) {
  if (tag_of(of(die).root()) != DW_TAG_type_unit) return {};
  Dwarf* const dwarf = dwarf_cu_getdwarf(die.cu);
  const auto [typedefs, is_new] = typedefs_.try_emplace(dwarf);
  if (is_new) typedefs->second = learn_typedefs(dwarf);
  const auto found = typedefs->second.find(die.addr);
  return found == typedefs->second.end() ? std::string() : found->second;
}

DwarfUnits::Typedefs DwarfUnits::learn_typedefs(Dwarf* dwarf) {
  Typedefs typedefs;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die root;
  while (dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &root, nullptr) == 0) {
    each_child(root, [&](const Dwarf_Die& child) {
      if (tag_of(child) != DW_TAG_typedef) return true;
      const auto type = die_at(child, DW_AT_type);
      if (type && type->cu != child.cu && own_name(*type).empty()) {
        typedefs.try_emplace(type->addr, own_name(child));
      }
      return true;
    });
  }
  return typedefs;
}

void DwarfUnits::set_skeleton(const Dwarf_Die& split, const Dwarf_Die& skeleton) {
  skeletons_[split.cu] = skeleton;
}

const char* DwarfUnits::file_of(const Dwarf_Die& die) const {
  if (const char* own = dwarf_decl_file(open(die)); own != nullptr) return own;
  const auto found = skeletons_.find(die.cu);
  if (found == skeletons_.end()) return nullptr;
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  Dwarf_Die skeleton = found->second;
  const auto number = number_at(die, DW_AT_decl_file);
  if (!number || dwarf_getsrcfiles(&skeleton, &files, &count) != 0) return nullptr;
  return *number < count ? dwarf_filesrc(files, *number, nullptr, nullptr) : nullptr;
}

void DwarfUnits::learn_imports() {
  imported_.emplace();
  if (dwarf_ == nullptr) return;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die root;
  while (dwarf_get_units(dwarf_, unit, &unit, nullptr, nullptr, &root, nullptr) == 0) {
    Dwarf_Attribute attribute;
    Dwarf_Word number = 0;
    if (dwarf_formudata(dwarf_attr(&root, DW_AT_language, &attribute), &number) != 0) continue;
    learn_imports_of(root, language_from(number));
  }
}

void DwarfUnits::learn_imports_of(Dwarf_Die root, Language language) {
  std::vector<Dwarf_Die> importers{root};
  while (!importers.empty()) {
    const Dwarf_Die importer = importers.back();
    importers.pop_back();
    each_child(importer, [&](const Dwarf_Die& child) {
      if (tag_of(child) != DW_TAG_imported_unit) return false;  // dwz puts them first
      const auto imported = die_at(child, DW_AT_import);
      if (imported && imported_->try_emplace(imported->addr, language).second) {
        importers.push_back(*imported);
      }
      return true;
    });
  }
}

}  // namespace heapattach::types
