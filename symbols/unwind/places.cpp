#include "symbols/unwind/places.h"

#include <algorithm>
#include <functional>
#include <string>

#include <dwarf.h>

#include "symbols/cxx/function_name.h"
#include "symbols/dwarf/dwarf_types.h"
#include "symbols/dwarf/dwarf_unit.h"
#include "symbols/unwind/arch/signal_return.h"

namespace heapattach::unwind {

namespace {

constexpr int kDeepest = 64;
constexpr std::size_t kMostScopes = 1'000'000;
constexpr std::size_t kLongestPrefix = 8192;

bool is_before(const void* a, const void* b) {
  return std::less<>()(a, b);
}

std::string name_of(const Dwarf_Die& scope) {
  std::string name = types::own_name(scope);
  if (name.empty() && types::tag_of(scope) == DW_TAG_namespace) return "(anonymous namespace)";
  return name;
}

constexpr int kDeepestScope = 200;
// The limit of lookups of procs' makers. A lookup walks over a unit, which takes some tens of
// milliseconds in a large program built with --release.
constexpr std::size_t kMostMakerLookups = 200;
constexpr std::size_t kLongestFile = 4096;

std::string cut(const char* text) {
  return text == nullptr ? std::string()
                         : std::string(std::string_view(text).substr(0, kLongestFile));
}

// The functions around an instruction, the outermost first: a function with code of its own, and
// the functions that were inlined into it.
class Functions {
 public:
  explicit Functions(Dwarf_Addr pc) : pc_(pc) {}

  void find(const Dwarf_Die& parent, int depth = 0) {
    types::each_child(parent, [&](Dwarf_Die child) { return take(child, depth); });
  }
  [[nodiscard]] const std::vector<Dwarf_Die>& found() const { return found_; }

 private:
  // Returns false once `die` has contained the instruction: none of its siblings can contain it,
  // too.
  bool take(Dwarf_Die die, int depth) {
    // Go only forward, even if a reference to a sibling points back.
    if (!std::less<>()(last_, static_cast<const void*>(die.addr))) return false;
    last_ = die.addr;
    const int tag = types::tag_of(die);
    const bool is_function = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
    const bool is_block =
        tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
    if (depth >= kDeepestScope) return true;
    if (is_function || is_block) {
      if (dwarf_haspc(&die, pc_) != 1) return true;
      if (is_function) found_.push_back(die);
      find(die, depth + 1);
      return false;
    }
    const bool is_scope =
        tag == DW_TAG_namespace || tag == DW_TAG_module || types::is_aggregate(tag);
    if (!is_scope || !found_.empty()) return true;
    find(die, depth + 1);
    return found_.empty();
  }

  Dwarf_Addr pc_;
  const void* last_ = nullptr;  // the last entry that was passed
  std::vector<Dwarf_Die> found_;
};

std::string text_at(Dwarf_Die die, unsigned name) {
  Dwarf_Attribute attribute;
  return dwarf_attr(&die, name, &attribute) == nullptr ? std::string()
                                                       : cut(dwarf_formstring(&attribute));
}

// The entry of a function, followed by the entries to which it refers: the function of which it is
// an inlined instance, and the declaration that it defines.
std::vector<Dwarf_Die> declarations_of(const Dwarf_Die& function) {
  constexpr std::size_t kMost = 4;
  std::vector<Dwarf_Die> all = {function};
  while (all.size() < kMost) {
    auto origin = types::die_at(all.back(), DW_AT_abstract_origin);
    if (!origin) origin = types::die_at(all.back(), DW_AT_specification);
    if (!origin) break;
    all.push_back(*origin);
  }
  return all;
}

bool is_cxx(Dwarf_Die die) {
  Dwarf_Die unit;
  if (dwarf_diecu(&die, &unit, nullptr, nullptr) == nullptr) return false;
  switch (dwarf_srclang(&unit)) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14: return true;
    default: return false;
  }
}

void set_line(Dwarf_Die unit, Dwarf_Addr pc, Place& place) {
  Dwarf_Line* const line = dwarf_getsrc_die(&unit, pc);
  if (line == nullptr) return;
  place.file = cut(dwarf_linesrc(line, nullptr, nullptr));
  int number = 0;
  if (dwarf_lineno(line, &number) == 0) {
    place.line = static_cast<std::uint32_t>(std::max(0, number));
  }
  if (dwarf_linecol(line, &number) == 0) {
    place.column = static_cast<std::uint32_t>(std::max(0, number));
  }
}

// The file in which the function is written.
std::string home_of(Dwarf_Die function) {
  return cut(dwarf_decl_file(&function));
}

// Sets the source position where an inlined function was called.
void set_call(Dwarf_Die unit, const Dwarf_Die& inlined, Place& place) {
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  const auto file = types::number_at(inlined, DW_AT_call_file);
  if (file && dwarf_getsrcfiles(&unit, &files, &count) == 0 && *file < count) {
    place.file = cut(dwarf_filesrc(files, *file, nullptr, nullptr));
  }
  place.line = static_cast<std::uint32_t>(types::number_at(inlined, DW_AT_call_line).value_or(0));
  place.column =
      static_cast<std::uint32_t>(types::number_at(inlined, DW_AT_call_column).value_or(0));
}

// The name of the function at `pc`, whose name in debug information is `name`. Crystal's debug
// information has methods without their classes; its symbols have both.
std::string with_symbol(std::string name, const Module& module, RemoteAddr pc) {
  const auto symbol = module.symbol_at(pc);
  if (!symbol) return name;
  if (is_cut_short(symbol->name) && !name.empty()) return function_name(symbol->name) + '#' + name;
  return name.empty() || symbol->name.starts_with('*') ? function_name(symbol->name) : name;
}

}  // namespace

const std::string& Scopes::around(const Dwarf_Die& die) {
  const auto [known, is_new] = units_.try_emplace(die.cu);
  Unit& unit = known->second;
  if (is_new) {
    Dwarf_Die asked = die;
    Dwarf_Die root;
    if (dwarf_diecu(&asked, &root, nullptr, nullptr) != nullptr) unit = read(root);
    if (unit.empty()) unit.emplace_back();
  }
  const auto behind = std::partition_point(unit.begin() + 1, unit.end(), [&](const Scope& scope) {
    return !is_before(die.addr, scope.begin);
  });
  // The last scope within another scope ends where the other one ends.
  auto around = static_cast<std::size_t>(std::prev(behind) - unit.begin());
  for (std::size_t at = around; at != 0; at = unit[at].parent) {
    const bool is_over = unit[at].end != nullptr && !is_before(die.addr, unit[at].end);
    if (is_over || unit[at].begin == die.addr) around = unit[at].parent;
  }
  return unit[around].prefix;
}

Scopes::Unit Scopes::read(const Dwarf_Die& root) {
  Unit unit;
  unit.push_back({root.addr, nullptr, 0, {}});
  walk(root, 0, 0, unit);
  return unit;
}

void Scopes::walk(Dwarf_Die parent, std::size_t scope, int depth, Unit& unit) {
  std::size_t open = 0;  // the last scope, which ends at the next entry
  types::each_child(parent, [&](Dwarf_Die child) {
    // Go only forward, even if a reference to a sibling points back.
    if (!is_before(unit.back().begin, child.addr)) return false;
    if (open != 0) unit[open].end = child.addr;
    open = 0;
    const int tag = types::tag_of(child);
    if (tag != DW_TAG_namespace && !types::is_aggregate(tag)) return true;
    if (unit.size() >= kMostScopes) return false;
    const std::string name = name_of(child);
    std::string prefix = unit[scope].prefix;
    if (!name.empty() && prefix.size() < kLongestPrefix) prefix += name + "::";
    open = unit.size();
    unit.push_back({child.addr, nullptr, scope, std::move(prefix)});
    if (depth < kDeepest) walk(child, open, depth + 1, unit);
    return true;
  });
}

// The name of a function. A function that no other unit can call has no linkage name.
std::string Places::name_of(Dwarf_Die function) {
  const std::vector<Dwarf_Die> all = declarations_of(function);
  for (const Dwarf_Die& die : all) {
    for (const unsigned name : {unsigned{DW_AT_linkage_name}, unsigned{DW_AT_MIPS_linkage_name}}) {
      if (const std::string linkage = text_at(die, name); !linkage.empty()) {
        return function_name(linkage);
      }
    }
  }
  for (const Dwarf_Die& die : all) {
    const std::string name = text_at(die, DW_AT_name);
    if (name.empty()) continue;
    return is_cxx(function) ? scopes_.around(all.back()) + name : name;
  }
  return {};
}

std::string Places::maker_of(ModuleDebug& module, const Dwarf_Die& proc) {
  const DeclaredAt declared = declared_at(proc);
  // The entry is inserted before the search, so that the recursion ends here: a damaged file may
  // say that a proc makes itself.
  const auto [known, is_new] = makers_.try_emplace({&module, declared.file, declared.line});
  if (is_new) known->second = find_maker(module, declared);
  return known->second;
}

// The function that has code from the line on which the proc is written; empty if there are several
// such functions.
std::string Places::find_maker(ModuleDebug& module, const DeclaredAt& proc) {
  std::string maker;
  for (const Dwarf_Addr pc : module.proc_lines().at(proc)) {
    if (++maker_lookups_ > kMostMakerLookups) return {};
    std::string name = maker_at(module, pc, proc);
    if (name.empty() || name == maker) continue;
    if (!maker.empty()) return {};
    maker = std::move(name);
  }
  return maker;
}

// The innermost function at `pc`, or its maker if it is a proc, too. Empty in code of the proc
// itself, which may be inlined anywhere.
std::string Places::maker_at(ModuleDebug& module, Dwarf_Addr pc, const DeclaredAt& proc) {
  const auto unit = module.units().at(pc);
  Functions functions(pc);
  if (const auto whole = unit ? module.whole_unit(*unit) : std::nullopt) functions.find(*whole);
  if (functions.found().empty()) return {};
  for (const Dwarf_Die& function : functions.found()) {
    if (name_of(function) != kProcName) continue;
    const DeclaredAt declared = declared_at(function);
    if (declared.line == proc.line && declared.file == proc.file) return {};
  }
  const Dwarf_Die& innermost = functions.found().back();
  std::string name = name_of(innermost);
  if (name != kProcName) {
    const bool has_symbol = functions.found().size() == 1;  // the function is not inlined
    const RemoteAddr at{pc + module.bias()};
    return has_symbol ? with_symbol(std::move(name), module.module(), at) : name;
  }
  return maker_of(module, innermost);
}

std::vector<Place> Places::by_debug_information(ModuleDebug& module, Dwarf_Addr pc) {
  const auto unit =
      module.units().at(pc);  // the line table of a split unit stays with the skeleton
  if (!unit) return {};
  Functions functions(pc);
  if (const auto whole = module.whole_unit(*unit)) functions.find(*whole);
  const std::vector<Dwarf_Die>& found = functions.found();
  std::vector<Place> places;
  for (std::size_t i = found.size(); i-- > 0;) {
    Place place;
    place.function = name_of(found[i]);
    const bool is_innermost = i + 1 == found.size();
    if (is_innermost) {
      set_line(*unit, pc, place);
    } else {
      set_call(*unit, found[i + 1], place);
    }
    place.is_inlined = types::tag_of(found[i]) == DW_TAG_inlined_subroutine;
    if (std::string home = home_of(found[i]); home != place.file) {
      place.home = std::move(home);
    }
    if (place.function == kProcName) place.maker = maker_of(module, found[i]);
    places.push_back(std::move(place));
    if (!places.back().is_inlined) break;
  }
  if (places.empty()) {
    places.emplace_back();
    set_line(*unit, pc, places.back());
  }
  return places;
}

std::vector<Place> Places::of(RemoteAddr pc) {
  ModuleDebug* const module = modules_.find(pc);
  if (module == nullptr) return {};
  if (is_signal_return(module->module(), pc)) {
    Place handler;
    handler.function = kSignalHandlerCalled;
    return {std::move(handler)};
  }
  std::vector<Place> places;
  if (with_library_lines_ || !types::is_without_types(module->module())) {
    places = by_debug_information(*module, pc.value - module->bias());
  }
  if (places.empty()) places.emplace_back();
  Place& outermost = places.back();
  outermost.function = with_symbol(std::move(outermost.function), module->module(), pc);
  if (outermost.function.empty()) {
    outermost.function = module->name_without_symbol(pc);
  }
  const bool is_empty = places.size() == 1 && outermost.function.empty() && outermost.file.empty();
  return is_empty ? std::vector<Place>() : places;
}

}  // namespace heapattach::unwind
