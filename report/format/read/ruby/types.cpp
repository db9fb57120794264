#include "report/format/read/ruby/types.h"

#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace heapattach::ruby {

namespace {

using snapshot::Snapshot;
using snapshot::Type;
using snapshot::TypedBy;
using snapshot::TypeIndex;

// The names of the edges of each type, in order; `class` is in all of them.
using NamesOfTypes = std::vector<std::set<std::string>>;

}  // namespace

JoinedTypes::JoinedTypes(const RubyPieces& pieces, const Names& names, Snapshot& snapshot) {
  for (const Tables& tables : pieces.tables) workers_.push_back({&tables, {}, {}, {}, {}});
  join_types(names, snapshot);
  join_sizes(snapshot);
  see_names(pieces);
  join_keys(names, snapshot);
  join_paths(pieces, snapshot);
}

const std::string& JoinedTypes::name_of(const OfWorker& worker, std::uint64_t both) {
  return worker.tables->keys[(both & 0xffff) - PackedEdge::kFirstName];
}

std::size_t JoinedTypes::index_of(const Tables& tables) const {
  std::size_t index = 0;
  while (workers_[index].tables != &tables) ++index;
  return index;
}

void JoinedTypes::join_types(const Names& names, Snapshot& snapshot) {
  std::unordered_map<std::string, TypeIndex> by_name;
  for (OfWorker& worker : workers_) {
    for (const Identity& identity : worker.tables->types) {
      Names::TypeName name = names.of(identity, *worker.tables);
      const auto [at, is_new] =
          by_name.try_emplace(name.text, static_cast<TypeIndex>(snapshot.types.size()));
      if (is_new) {
        Type& type = snapshot.types.emplace_back();
        type.name = std::move(name.text);
        type.typed_by = name.is_known ? TypedBy::Header : TypedBy::Nothing;
        if (name.is_known) type.known_from = {"header"};
      }
      EdgeWords& words = worker.types.emplace_back();
      words.type = at->second;
      words.of_class = identity.of_class;
    }
  }
}

void JoinedTypes::join_sizes(Snapshot& snapshot) {
  std::unordered_map<std::uint64_t, std::uint32_t> classes;
  for (OfWorker& worker : workers_) {
    for (const std::uint64_t bytes : worker.tables->sizes.sizes) {
      const auto [at, is_new] =
          classes.try_emplace(bytes, static_cast<std::uint32_t>(snapshot.sizes.size()));
      if (is_new) snapshot.sizes.push_back(bytes);
      worker.sizes.push_back(at->second);
    }
  }
}

void JoinedTypes::see_names(const RubyPieces& pieces) {
  for (const RubyPiece& piece : pieces.all) {
    if (piece.tables == nullptr) continue;
    OfWorker& worker = workers_[index_of(*piece.tables)];
    std::size_t edge = 0;
    for (std::size_t i = 0; i < piece.objects.size(); ++i) {
      for (; edge < piece.edge_ends[i]; ++edge) {
        const auto key = static_cast<std::uint16_t>(piece.edges[edge].key);
        if (key < PackedEdge::kFirstName) continue;
        worker.names.try_emplace(pair(worker.types[piece.objects[i].type].type, key), 0);
      }
    }
  }
}

void JoinedTypes::join_keys(const Names& names, Snapshot& snapshot) {
  NamesOfTypes used(snapshot.types.size());
  std::unordered_map<std::uint64_t, std::vector<std::string>> variables;  // by shape
  for (const OfWorker& worker : workers_) {
    for (const auto& [both, word] : worker.names) used[both >> 16].insert(name_of(worker, both));
    for (std::size_t i = 0; i < worker.types.size(); ++i) {
      const std::uint64_t shape = worker.tables->types[i].shape;
      const auto [at, is_new] = variables.try_emplace(shape);
      if (is_new && shape != Identity::kNoShape) at->second = names.variables_of(shape);
      used[worker.types[i].type].insert(at->second.begin(), at->second.end());
    }
  }
  std::vector<std::unordered_map<std::string_view, std::uint32_t>> words(used.size());
  for (std::size_t i = 0; i < used.size(); ++i) {
    auto& keys = snapshot.types[i].keys;
    keys.push_back({"class", "", 0});
    for (const std::string& name : used[i]) {
      words[i].emplace(name, static_cast<std::uint32_t>(keys.size()));
      keys.push_back({name, "", 0});
    }
    keys.push_back({"references[", "]", 1});
    keys.push_back({"[", "]", 1});
  }
  for (OfWorker& worker : workers_) {
    for (auto& [both, word] : worker.names) word = words[both >> 16].at(name_of(worker, both));
    for (std::size_t i = 0; i < worker.types.size(); ++i) {
      EdgeWords& edges = worker.types[i];
      edges.plain = static_cast<std::uint32_t>(snapshot.types[edges.type].keys.size() - 2);
      for (const std::string& name : variables[worker.tables->types[i].shape]) {
        edges.variables.push_back(words[edges.type].at(name));
      }
    }
  }
}

void JoinedTypes::join_paths(const RubyPieces& pieces, Snapshot& snapshot) {
  NamesOfTypes used(snapshot.types.size());
  for (const RubyPiece& piece : pieces.all) {
    if (piece.tables == nullptr) continue;
    OfWorker& worker = workers_[index_of(*piece.tables)];
    for (const Text& text : piece.texts) {
      if (text.key == PackedEdge::kReference) continue;
      const TypeIndex type = worker.types[piece.objects[text.object].type].type;
      if (!worker.paths.try_emplace(pair(type, text.key), 0).second) continue;
      used[type].insert(name_of(worker, text.key));
    }
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    snapshot.types[i].value_paths.assign(used[i].begin(), used[i].end());
  }
  for (OfWorker& worker : workers_) {
    for (auto& [both, path] : worker.paths) {
      const auto& names = used[both >> 16];
      path = static_cast<std::uint32_t>(
          std::distance(names.begin(), names.find(name_of(worker, both))));
    }
  }
}

}  // namespace heapattach::ruby
