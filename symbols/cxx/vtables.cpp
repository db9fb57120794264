// A vtable (Itanium C++ ABI, 2.5.2) is one symbol with one or more tables: one for the class, and
// one for each base that is not at the object's start. Each table is
//
//     offsets of virtual bases and calls …, offset to top, RTTI, functions …
//
// and objects point to the first of the functions, at least two words after the symbol's start. Any
// word within the symbol may be that function, so a pointer to any of them counts. Nothing else
// points into a vtable. The contents cannot narrow this down: in a position-independent program
// they are zero in the file.

#include "symbols/cxx/vtables.h"

#include <algorithm>
#include <utility>

#include "symbols/cxx/class_names.h"
#include "symbols/cxx/demangle.h"

namespace heapattach::cxx {
namespace {

constexpr std::string_view kVtable = "_ZTV";
constexpr std::uint64_t kLargestVtable = 1U << 20U;

bool may_have_classes(const Module& module) {
  return module.name().starts_with("libstdc++.");
}

void take_vtables(const Module& module, std::vector<Symbol>& symbols) {
  for (const Symbol& symbol : module.symbols()) {
    if (!symbol.is_function && symbol.name.starts_with(kVtable)) symbols.push_back(symbol);
  }
}

}  // namespace

std::string class_of_vtable(std::string_view symbol) {
  if (!symbol.starts_with(kVtable)) return {};
  const std::string mangled(symbol.substr(kVtable.size()));
  const std::string name = demangled(mangled);
  return name == mangled ? name : one_spelling(name);
}

VtableNames::VtableNames(const Modules& modules,
                         const MemoryReader& memory,
                         const FirstWords& others) {
  std::vector<Symbol> symbols;
  for (const Module& module : modules.all()) {
    if (!is_without_classes(module)) take_vtables(module, symbols);
  }
  add(symbols);
  add(search_vtables(modules, memory,
                     [this](std::uint64_t word) { return index_of(word).has_value(); }));
  if (!vtables_.empty()) {
    symbols.clear();
    for (const Module& module : modules.all()) {
      if (may_have_classes(module)) take_vtables(module, symbols);
    }
    add(symbols);
  }
  add(others);
}

VtableNames::VtableNames(const std::vector<Symbol>& symbols, const FoundVtables& found) {
  add(symbols);
  add(found);
}

std::uint32_t VtableNames::intern(std::string name) {
  const auto [known, is_new] =
      index_of_name_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (is_new) names_.push_back(std::move(name));
  return known->second;
}

void VtableNames::add(const std::vector<Symbol>& symbols) {
  std::vector<Symbol> sorted = symbols;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Symbol& a, const Symbol& b) { return a.address < b.address; });
  std::vector<Vtable> more;
  std::uint64_t end = 0;  // of the last accepted symbol
  for (const Symbol& symbol : sorted) {
    const std::uint64_t start = symbol.address.value;
    const bool is_sane = symbol.bytes >= 16 && symbol.bytes <= kLargestVtable && start % 8 == 0 &&
                         start + symbol.bytes > start;
    std::string name = class_of_vtable(symbol.name);
    if (!is_sane || start < end || name.empty()) continue;
    end = start + symbol.bytes;
    // A class with virtual bases and no functions uses its table's end as the address.
    more.push_back({start + 16, std::max(end - 8, start + 16), intern(std::move(name))});
  }
  insert(more);
}

// The search also finds vtables that have symbols. The names from symbols are better and stay.
void VtableNames::add(const FoundVtables& found) {
  std::vector<Vtable> more;
  for (const FoundVtables::Vtable& vtable : found.vtables) {
    if (index_of(vtable.functions)) continue;
    const std::uint32_t name = intern(class_of_vtable(std::string(kVtable) + vtable.mangled));
    more.push_back({vtable.functions, vtable.functions, name});
  }
  insert(more);
  for (const std::string& mangled : found.bases) {
    found_bases_.insert(class_of_vtable(std::string(kVtable) + mangled));
  }
}

void VtableNames::add(const FirstWords& others) {
  std::vector<Vtable> more;
  for (const auto& [word, name] : others) {
    if (!index_of(word)) more.push_back({word, word, intern(name)});
  }
  insert(more);
}

void VtableNames::insert(const std::vector<Vtable>& more) {
  vtables_.insert(vtables_.end(), more.begin(), more.end());
  std::sort(vtables_.begin(), vtables_.end(),
            [](const Vtable& a, const Vtable& b) { return a.first < b.first; });
}

std::optional<std::uint32_t> VtableNames::index_of(std::uint64_t word) const {
  if (vtables_.empty() || word < vtables_.front().first || word > vtables_.back().last ||
      word % 8 != 0) {
    return std::nullopt;
  }
  auto vtable =
      std::upper_bound(vtables_.begin(), vtables_.end(), word,
                       [](std::uint64_t at, const Vtable& table) { return at < table.first; });
  if (vtable == vtables_.begin()) return std::nullopt;
  --vtable;
  if (word > vtable->last) return std::nullopt;
  return vtable->name;
}

std::optional<std::string_view> VtableNames::name_of(std::uint64_t word) const {
  const auto index = index_of(word);
  if (!index) return std::nullopt;
  return names_[*index];
}

}  // namespace heapattach::cxx
