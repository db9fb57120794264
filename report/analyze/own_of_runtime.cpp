#include "report/analyze/own_of_runtime.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/redact/library_names.h"

namespace heapattach::analyze {

namespace {

using snapshot::ObjectIndex;
using snapshot::Snapshot;

bool is_internal(std::string_view type) {
  return type.starts_with("internal(");
}

bool is_constant(std::string_view name) {
  return !name.empty() && name.front() >= 'A' && name.front() <= 'Z';
}

bool is_of_ruby(std::string_view name) {
  return is_library_type(name.substr(0, name.find("::")), Language::Ruby);
}

// Whether the root is Ruby's own: neither a thread's stack nor a variable of the program's. The
// interpreter's variables have names such as rb_cObject.
bool is_of_interpreter(const snapshot::Root& root) {
  constexpr std::array<std::string_view, 3> kStacks{"machine_context", "stack", "registers"};
  const std::string_view name = root.symbol;
  const bool is_stack =
      root.thread || root.fiber || std::find(kStacks.begin(), kStacks.end(), name) != kStacks.end();
  const bool is_variable = name.starts_with("rb_") || name.starts_with("ruby_");
  return !is_stack && (is_variable || is_library_symbol(name, Language::Ruby));
}

}  // namespace

OwnOfRuntime::OwnOfRuntime(const Snapshot& snapshot, EdgeNames& names)
    : snapshot_(snapshot), names_(names) {
  if (snapshot.header.runtime != "ruby" || snapshot.first_edge.empty()) return;
  // Ruby's Object is the class whose constant Object is the class itself.
  for (ObjectIndex object = 0; object < snapshot.objects.size() && !top_; ++object) {
    if (!is_module(object)) continue;
    for (const snapshot::Edge& edge : snapshot.edges_of(object)) {
      if (edge.to == object && names_.name(object, edge.offset_words) == "Object") top_ = object;
    }
  }
  if (!top_) return;
  is_own_[*top_] = true;
  name_modules_in(*top_, true);
}

// Notes for each module whether it is the runtime's own. Does not recurse, because modules may be
// nested deeply or in a cycle.
void OwnOfRuntime::name_modules_in(ObjectIndex module, bool is_own) {
  std::vector<std::pair<ObjectIndex, bool>> left{{module, is_own}};
  while (!left.empty()) {
    const auto [from, is_own_from] = left.back();
    left.pop_back();
    for (const snapshot::Edge& edge : snapshot_.edges_of(from)) {
      if (!is_module(edge.to) || is_own_.contains(edge.to)) continue;
      const std::string name = names_.name(from, edge.offset_words);
      if (!is_constant(name)) continue;
      const bool is_own_too = from == *top_ ? is_of_ruby(name) : is_own_from;
      is_own_.emplace(edge.to, is_own_too);
      left.emplace_back(edge.to, is_own_too);
    }
  }
}

bool OwnOfRuntime::is_module(ObjectIndex object) const {
  const std::string& type = type_name(object);
  return type == "Class" || type == "Module";
}

bool OwnOfRuntime::is_own_type(snapshot::TypeIndex type) const {
  const std::string_view name = snapshot_.types[type].name;
  return is_internal(name) || is_of_ruby(name.substr(0, name.find_first_of(" (")));
}

bool OwnOfRuntime::has_only_own(const snapshot::Root& root, const RootPath& path) const {
  if (!top_ || !is_of_interpreter(root)) return false;
  bool is_within_module = false;
  bool are_internal = path.size() > 1 || is_internal(type_name(path.front().object));
  for (std::size_t i = 0; i < path.size(); ++i) {
    const ObjectIndex object = path[i].object;
    const bool is_of_top = i > 0 && path[i - 1].object == *top_;
    if (is_of_top && is_constant_of_program(path[i].by)) return false;
    if (!is_own_type(snapshot_.objects[object].type) || !may_be_own_module(object)) return false;
    is_within_module |= is_module(object) && object != *top_;
    are_internal &= i + 1 == path.size() || is_internal(type_name(object));
  }
  return is_within_module || are_internal;
}

// Whether the object is not a module, or is one of the runtime's own. Object counts as such,
// because it contains everything.
bool OwnOfRuntime::may_be_own_module(ObjectIndex object) const {
  if (!is_module(object) || object == *top_) return true;
  const auto known = is_own_.find(object);
  return known != is_own_.end() && known->second;
}

// Whether a reference from Ruby's Object is a constant that the program has set.
bool OwnOfRuntime::is_constant_of_program(std::uint32_t reference) const {
  const std::string name = names_.name(*top_, reference);
  return is_constant(name) && !is_of_ruby(name);
}

std::uint64_t OwnOfRuntime::most_bytes(std::uint64_t live_bytes) {
  constexpr std::uint64_t kLeast = std::uint64_t{2} << 20;
  constexpr std::uint64_t kShare = 4;
  return std::max(kLeast, live_bytes / kShare);
}

}  // namespace heapattach::analyze
