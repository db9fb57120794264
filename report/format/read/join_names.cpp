#include "report/format/read/join_names.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "report/type_names.h"

namespace heapattach::read {

namespace {

using snapshot::Type;

// Sorts names without a number first, as Type::keys requires.
bool is_before(const Type::Key& a, const Type::Key& b) {
  return std::tie(a.unit, a.before, a.after) < std::tie(b.unit, b.before, b.after);
}

bool is_same(const Type::Key& a, const Type::Key& b) {
  return !is_before(a, b) && !is_before(b, a);
}

std::vector<JoinedNames::Code> codes_of(const std::vector<Type::Key>& own,
                                        const std::vector<Type::Key>& all) {
  const auto first_numbered = static_cast<std::uint32_t>(
      std::find_if(all.begin(), all.end(), [](const Type::Key& key) { return key.unit != 0; }) -
      all.begin());
  const auto numbered = static_cast<std::uint32_t>(all.size()) - first_numbered;
  std::vector<JoinedNames::Code> codes;
  codes.reserve(own.size());
  for (const Type::Key& key : own) {
    const auto at = std::lower_bound(all.begin(), all.end(), key, is_before);
    codes.push_back({static_cast<std::uint32_t>(at - all.begin()), key.unit == 0 ? 0 : numbered});
  }
  return codes;
}

}  // namespace

JoinedNames::JoinedNames(const Pieces& pieces, snapshot::Snapshot& snapshot)
    : pieces_(pieces), of_worker_(pieces.names.size()) {
  join_types(snapshot);
  join_sizes(snapshot);
  join_keys(snapshot);
  join_value_paths(snapshot);
}

const JoinedNames::OfWorker& JoinedNames::of(const NameTables& names) const {
  std::size_t worker = 0;
  while (&pieces_.names[worker] != &names) ++worker;
  return of_worker_[worker];
}

void JoinedNames::join_types(snapshot::Snapshot& snapshot) {
  std::vector<const SeenType*> seen;
  for (const NameTables& names : pieces_.names) {
    for (const SeenType& type : names.types) seen.push_back(&type);
  }
  std::sort(seen.begin(), seen.end(), [](const SeenType* a, const SeenType* b) {
    return std::tie(a->first_block, a->first_object) < std::tie(b->first_block, b->first_object);
  });
  std::unordered_map<std::string, snapshot::TypeIndex> by_name;
  for (std::size_t i = 0; i < snapshot.types.size(); ++i) {
    by_name.emplace(snapshot.types[i].name, static_cast<snapshot::TypeIndex>(i));
  }
  for (const SeenType* type : seen) {
    const auto next = static_cast<snapshot::TypeIndex>(snapshot.types.size());
    if (by_name.emplace(type->name, next).second) snapshot.types.emplace_back().name = type->name;
  }
  for (std::size_t worker = 0; worker < of_worker_.size(); ++worker) {
    for (const SeenType& type : pieces_.names[worker].types) {
      of_worker_[worker].types.push_back(by_name.at(type.name));
    }
  }
  for (Type& type : snapshot.types) type.name = as_named_now(type.name);
}

void JoinedNames::join_sizes(snapshot::Snapshot& snapshot) {
  std::unordered_map<std::uint64_t, std::uint32_t> classes;
  for (std::size_t worker = 0; worker < of_worker_.size(); ++worker) {
    for (const std::uint64_t bytes : pieces_.names[worker].sizes) {
      const auto [at, is_new] =
          classes.try_emplace(bytes, static_cast<std::uint32_t>(snapshot.sizes.size()));
      if (is_new) snapshot.sizes.push_back(bytes);
      of_worker_[worker].sizes.push_back(at->second);
    }
  }
}

void JoinedNames::join_keys(snapshot::Snapshot& snapshot) {
  for (std::size_t worker = 0; worker < of_worker_.size(); ++worker) {
    const auto& types = pieces_.names[worker].types;
    for (std::size_t i = 0; i < types.size(); ++i) {
      auto& all = snapshot.types[of_worker_[worker].types[i]].keys;
      all.insert(all.end(), types[i].keys.keys().begin(), types[i].keys.keys().end());
    }
  }
  for (Type& type : snapshot.types) {
    std::sort(type.keys.begin(), type.keys.end(), is_before);
    type.keys.erase(std::unique(type.keys.begin(), type.keys.end(), is_same), type.keys.end());
  }
  for (std::size_t worker = 0; worker < of_worker_.size(); ++worker) {
    const auto& types = pieces_.names[worker].types;
    for (std::size_t i = 0; i < types.size(); ++i) {
      const auto& all = snapshot.types[of_worker_[worker].types[i]].keys;
      of_worker_[worker].codes.push_back(codes_of(types[i].keys.keys(), all));
    }
  }
}

void JoinedNames::join_value_paths(snapshot::Snapshot& snapshot) {
  std::vector<std::map<std::string_view, std::uint32_t>> known(snapshot.types.size());
  for (std::size_t worker = 0; worker < of_worker_.size(); ++worker) {
    const auto& types = pieces_.names[worker].types;
    for (std::size_t i = 0; i < types.size(); ++i) {
      const snapshot::TypeIndex type = of_worker_[worker].types[i];
      auto& paths = snapshot.types[type].value_paths;
      auto& numbers = of_worker_[worker].value_paths.emplace_back();
      for (const std::string& path : types[i].value_paths) {
        const auto [at, is_new] =
            known[type].try_emplace(path, static_cast<std::uint32_t>(paths.size()));
        if (is_new) paths.push_back(path);
        numbers.push_back(at->second);
      }
    }
  }
}

}  // namespace heapattach::read
