#include "symbols/crystal/type_sources.h"

#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "symbols/crystal/type_names.h"

namespace heapattach::crystal {
namespace {

// The instance sizes that have been the same from Crystal 1.0 on, for a list without sizes.
std::optional<std::uint64_t> known_bytes(std::string_view name) {
  const bool is_known = name.starts_with("Array(") || name.starts_with("Deque(");
  return is_known ? std::optional<std::uint64_t>(24) : std::nullopt;
}

constexpr std::size_t kEnoughNames = 4;

class Comparison {
 public:
  Comparison(const TypeList& list, const AllocatorScan& program) {
    for (const Type& type : list) {
      if (type.is_value) continue;
      by_id_.emplace(type.id, &type);
      ids_.emplace(canonical_name(type.name), type.id);
    }
    for (const Type& type : program.types) compare(type);
    for (const auto& [id, name] : program.names.from_table) compare_name(id, name);
  }

  [[nodiscard]] ListFit fit() const {
    ListFit fit;
    fit.agreements = agreements_;
    fit.contradictions = contradictions_;
    // If names can be compared, they refute a list of another build; one that only lacks some of
    // the program's types is right about the others.
    fit.doubts = named_ < kEnoughNames ? doubts_ : doubts_ - absent_;
    fit.example = contradiction_.empty() ? doubt_ : contradiction_;
    return fit;
  }

 private:
  void compare(const Type& type) {
    const auto listed = by_id_.find(type.id);
    if (listed == by_id_.end()) {
      // The list has each class that can have instances; but what looks like an id may not be one.
      if (!type.instance_bytes) return;
      ++absent_;
      doubt(fmt::format("it has no class with the id {}, which the program allocates", type.id));
      return;
    }
    if (!type.name.empty()) compare_name(type.id, type.name);
    if (!type.instance_bytes) return;
    const Type& other = *listed->second;
    const auto bytes = other.instance_bytes ? other.instance_bytes : known_bytes(other.name);
    if (bytes && *bytes != *type.instance_bytes) {
      doubt(fmt::format("instances of its type {} ({}) take {} bytes, but {} in the program",
                        type.id, other.name, *bytes, *type.instance_bytes));
    } else if (type.is_atomic.value_or(false) && known_bytes(other.name)) {
      doubt(fmt::format("its type {} ({}) has no pointers in the program", type.id, other.name));
    } else if (bytes) {
      ++agreements_;
    }
  }

  void compare_name(std::uint32_t id, const std::string& name) {
    const auto listed = by_id_.find(id);
    const std::string other = listed == by_id_.end() ? "" : canonical_name(listed->second->name);
    if (name == other) {
      ++agreements_;
      ++named_;
      return;
    }
    // A name that the list lacks completely may only be spelled differently there, and generic
    // types without arguments are in no list.
    if (!ids_.contains(name)) return;
    ++contradictions_;
    if (!contradiction_.empty()) return;
    contradiction_ = fmt::format("type {} is {} in the program, but {} in the file", id, name,
                                 other.empty() ? "not a class" : other);
  }

  void doubt(std::string text) {
    ++doubts_;
    if (doubt_.empty()) doubt_ = std::move(text);
  }

  std::unordered_map<std::uint32_t, const Type*> by_id_;
  std::multimap<std::string, std::uint32_t> ids_;
  std::size_t agreements_ = 0;
  std::size_t contradictions_ = 0;
  std::size_t doubts_ = 0;
  std::size_t absent_ = 0;  // among the doubts
  std::size_t named_ = 0;   // among the agreements
  std::string contradiction_;
  std::string doubt_;
};

}  // namespace

ListFit fit_of(const TypeList& list, const AllocatorScan& program) {
  return Comparison(list, program).fit();
}

JoinedTypes join_types(std::vector<TypeList> lists, AllocatorScan program) {
  JoinedTypes joined;
  TypeList* best = nullptr;
  ListFit best_fit;
  for (TypeList& list : lists) {
    ListFit fit = fit_of(list, program);
    if (fit.is_of_program() && (best == nullptr || fit.agreements >= best_fit.agreements)) {
      best = &list;
      best_fit = fit;
    }
    joined.refusal = std::move(fit.example);
  }
  if (best != nullptr) {
    joined.refusal.clear();
    for (Type& type : *best) joined.table.add(std::move(type));
  }
  for (Type& type : program.types) joined.table.add(std::move(type));
  return joined;
}

std::string refusal_text(const std::string& path, const std::string& why) {
  return fmt::format(
      "{} is not used, because it is from another program or build: {}. Each build needs its own; "
      "create one from the same source with the same flags, and run the program built with it",
      path, why);
}

}  // namespace heapattach::crystal
