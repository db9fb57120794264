#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/format/read/ruby/names.h"
#include "report/format/read/ruby/pieces.h"
#include "report/model/model.h"

namespace heapattach::ruby {

// The types and sizes of a snapshot, merged from the tables of all workers, and the numbering of
// each type's edges.
class JoinedTypes {
 public:
  // The words for the edges of objects with one Identity.
  struct EdgeWords {
    snapshot::TypeIndex type = 0;
    std::uint64_t of_class = 0;            // the address of their class; 0: none
    std::vector<std::uint32_t> variables;  // the words of the instance variables, if known
    std::uint32_t plain = 0;               // number of the type's names

    static constexpr std::uint32_t kClass = 0;  // the word of the edge to the class
  };

  // Fills `snapshot`'s types and sizes.
  JoinedTypes(const RubyPieces& pieces, const Names& names, snapshot::Snapshot& snapshot);

  [[nodiscard]] const EdgeWords& of(const Tables& tables, std::uint32_t type) const {
    return workers_[index_of(tables)].types[type];
  }
  // The word of the edge with this key, at position `index` in its object.
  [[nodiscard]] std::uint64_t word(const Tables& tables,
                                   const EdgeWords& words,
                                   std::uint16_t key,
                                   std::uint64_t index) const {
    if (key < PackedEdge::kFirstName) return words.plain + 2 * index + key;
    return workers_[index_of(tables)].names.at(pair(words.type, key));
  }
  // The path of a field's value with this key, an index into the type's value_paths.
  [[nodiscard]] std::uint32_t path(const Tables& tables,
                                   std::uint32_t type,
                                   std::uint16_t key) const {
    const OfWorker& worker = workers_[index_of(tables)];
    return worker.paths.at(pair(worker.types[type].type, key));
  }
  [[nodiscard]] std::uint32_t size_of(const Tables& tables, std::uint32_t size) const {
    return workers_[index_of(tables)].sizes[size];
  }

 private:
  struct OfWorker {
    const Tables* tables = nullptr;
    std::vector<EdgeWords> types;
    std::vector<std::uint32_t> sizes;
    std::unordered_map<std::uint64_t, std::uint32_t> names;  // by pair(): the word
    std::unordered_map<std::uint64_t, std::uint32_t> paths;  // by pair(): of values
  };

  static std::uint64_t pair(snapshot::TypeIndex type, std::uint16_t key) {
    return std::uint64_t{type} << 16 | key;
  }

  static const std::string& name_of(const OfWorker& worker, std::uint64_t both);
  [[nodiscard]] std::size_t index_of(const Tables& tables) const;
  void join_types(const Names& names, snapshot::Snapshot& snapshot);
  void join_sizes(snapshot::Snapshot& snapshot);
  // Collects the names of each type's edges.
  void see_names(const RubyPieces& pieces);
  void join_keys(const Names& names, snapshot::Snapshot& snapshot);
  void join_paths(const RubyPieces& pieces, snapshot::Snapshot& snapshot);

  std::vector<OfWorker> workers_;
};

}  // namespace heapattach::ruby
