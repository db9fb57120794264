#include "symbols/unwind/scopes.h"

#include <algorithm>
#include <functional>

#include <dwarf.h>

#include "symbols/dwarf/dwarf_unit.h"

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
  // The last scope in another one ends with it.
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
  std::size_t open = 0;  // the last scope found, whose end is the next entry
  types::each_child(parent, [&](Dwarf_Die child) {
    // Only forward, even if a reference to a sibling points back.
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

}  // namespace heapattach::unwind
