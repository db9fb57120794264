#include "report/format/read/join_objects.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "report/format/read/address_index.h"
#include "report/format/read/join_names.h"
#include "report/parallel.h"

namespace heapattach::read {

namespace {

using snapshot::Object;
using snapshot::ObjectIndex;
using snapshot::Snapshot;

constexpr std::size_t kEdgesAhead = 16;

class Joiner {
 public:
  Joiner(Pieces& pieces, Snapshot& snapshot) : pieces_(pieces), snapshot_(snapshot) {
    std::uint64_t objects = 0;
    for (const Piece& piece : pieces_.all) {
      first_.push_back(objects);
      objects += piece.objects.size();
    }
    first_.push_back(objects);
    const auto kinds = heap_kinds();
    for (std::size_t i = snapshot_.heaps.size(); i-- > 0;) {
      const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const heap::Kind* one) {
        return one->key == snapshot_.heaps[i].kind().key;
      });
      heap_of_.at(static_cast<std::size_t>(kind - kinds.begin()) + 1) = i;
    }
    end_.resize(pieces_.all.size());
    dropped_.resize(pieces_.all.size());
  }

  ObjectsJoined join(bool with_edges) && {
    check_order();
    if (!result_.wrong.empty()) return std::move(result_);
    const JoinedNames names(pieces_, snapshot_);
    snapshot_.objects.resize(first_.back());
    for_each_piece([&](std::size_t piece) { copy_objects(piece, names); });
    take_values(names);
    if (with_edges) join_edges(names);
    return std::move(result_);
  }

 private:
  template <class Work>
  void for_each_piece(const Work& work) {
    std::atomic<std::size_t> next = 0;
    run_workers(workers_for(pieces_.all.size()), [&](unsigned) {
      for (std::size_t at = next++; at < pieces_.all.size(); at = next++) work(at);
    });
  }

  void wrong(std::size_t piece, std::size_t line, std::string what) {
    if (result_.wrong.empty()) result_ = {std::move(what), piece, line, 0};
  }

  void check_order() {
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < pieces_.all.size(); ++i) {
      const auto& objects = pieces_.all[i].objects;
      if (objects.empty()) continue;
      const std::uint64_t first = objects.front().address;
      if (first <= last) {
        wrong(i, pieces_.all[i].line_of(0),
              fmt::format("object {:#x} comes after {:#x}; objects must be in order, each once",
                          first, last));
      }
      last = objects.back().address;
    }
    if (first_.back() >= AddressIndex::kNone) wrong(0, 1, "more than four billion objects");
  }

  void copy_objects(std::size_t at, const JoinedNames& names) {
    const Piece& piece = pieces_.all[at];
    if (piece.objects.empty()) return;
    const auto& numbers = names.of(*piece.names);
    std::uint64_t index = first_[at];
    for (Object object : piece.objects) {
      object.type = numbers.types[object.type];
      object.size_class = numbers.sizes[object.size_class];
      object.heap = heap_of_[object.heap] & (snapshot::kMostHeaps - 1);
      snapshot_.objects[index++] = object;
    }
  }

  void take_values(const JoinedNames& names) {
    for (std::size_t at = 0; at < pieces_.all.size(); ++at) {
      Piece& piece = pieces_.all[at];
      if (piece.values.values.empty()) continue;
      const auto& numbers = names.of(*piece.names);
      for (std::size_t i = 0; i < piece.objects.size(); ++i) {
        const auto& paths = numbers.value_paths[piece.objects[i].type];
        for (auto v = piece.values.first_value[i]; v < piece.values.first_value[i + 1]; ++v) {
          auto& path = piece.values.values[v].path;
          if (path != snapshot::Value::kOwn) path = paths[path];
        }
      }
      piece.values.first_object = static_cast<ObjectIndex>(first_[at]);
      snapshot_.values.push_back(std::move(piece.values));
    }
  }

  void join_edges(const JoinedNames& names) {
    const AddressIndex index(snapshot_.objects);
    for_each_piece([&](std::size_t piece) { resolve_edges(piece, index); });
    refuse_dangling();
    take_roots(index);
    if (!result_.wrong.empty()) return;
    std::uint64_t edges = 0;
    for (std::uint64_t& end : end_) end = edges += end;
    snapshot_.edges.resize(edges);
    snapshot_.first_edge.resize(first_.back() + 1);
    snapshot_.first_edge[first_.back()] = edges;
    for_each_piece([&](std::size_t piece) { copy_edges(piece, names); });
    for (std::size_t i = 0; i < too_large_.size(); ++i) {
      if (too_large_[i] != 0) wrong(i, too_large_[i], "the number in a key is too large");
    }
  }

  // Replaces addresses by objects. end_ becomes the number of edges whose object exists.
  void resolve_edges(std::size_t at, const AddressIndex& index) {
    auto& edges = pieces_.all[at].edges;
    std::uint64_t found = 0;
    for (std::size_t e = 0; e < edges.size(); ++e) {
      if (e + kEdgesAhead < edges.size()) index.prefetch(edges[e + kEdgesAhead].to);
      edges[e].to = index.find(edges[e].to);
      if (edges[e].to != AddressIndex::kNone) ++found;
    }
    end_[at] = found;
    dropped_[at] = edges.size() - found;
  }

  void refuse_dangling() {
    for (std::size_t at = 0; at < pieces_.all.size(); ++at) {
      result_.dropped += dropped_[at];
      if (dropped_[at] == 0 || !snapshot_.complete) continue;
      const Piece& piece = pieces_.all[at];
      std::size_t edge = 0;
      while (piece.edges[edge].to != AddressIndex::kNone) ++edge;
      const auto object = std::upper_bound(piece.edge_ends.begin(), piece.edge_ends.end(), edge) -
                          piece.edge_ends.begin();
      const auto number = static_cast<std::uint32_t>(object);
      wrong(at, piece.line_of(number), "it refers to an object that is not in the file");
      return;
    }
  }

  void take_roots(const AddressIndex& index) {
    for (std::size_t at = 0; at < pieces_.all.size(); ++at) {
      for (auto& [root, line] : pieces_.all[at].roots) {
        root.root.to = index.find(root.to);
        if (root.root.to != AddressIndex::kNone) {
          snapshot_.roots.push_back(std::move(root.root));
        } else if (snapshot_.complete) {
          wrong(at, line, "it refers to an object that is not in the file");
        } else {
          ++result_.dropped;
        }
      }
    }
  }

  void copy_edges(std::size_t at, const JoinedNames& names) {
    Piece& piece = pieces_.all[at];
    if (piece.objects.empty()) return;
    const auto& numbers = names.of(*piece.names);
    std::uint64_t to = at == 0 ? 0 : end_[at - 1];
    std::uint32_t edge = 0;
    for (std::uint32_t i = 0; i < piece.objects.size(); ++i) {
      snapshot_.first_edge[first_[at] + i] = to;
      const auto& codes = numbers.codes[piece.objects[i].type];
      for (; edge < piece.edge_ends[i]; ++edge) {
        const RawEdge& raw = piece.edges[edge];
        if (raw.to == AddressIndex::kNone) continue;
        const JoinedNames::Code code = codes[raw.key];
        const std::uint64_t word = code.base + std::uint64_t{raw.number} * code.step;
        if (word > std::numeric_limits<std::uint32_t>::max()) too_large_[at] = piece.line_of(i);
        snapshot_.edges[to++] = {static_cast<std::uint32_t>(word),
                                 static_cast<ObjectIndex>(raw.to)};
      }
    }
    piece.edges = {};
    piece.edge_ends = {};
  }

  Pieces& pieces_;
  Snapshot& snapshot_;
  std::vector<std::uint64_t> first_;    // by piece, plus one: the index of its first object
  std::vector<std::uint64_t> end_;      // by piece: its edges; then the running total
  std::vector<std::uint64_t> dropped_;  // by piece
  // By Object::heap in a piece: the index into Snapshot::heaps.
  std::array<std::uint64_t, snapshot::kMostHeaps> heap_of_{};
  std::vector<std::size_t> too_large_ = std::vector<std::size_t>(pieces_.all.size());  // lines
  ObjectsJoined result_;
};

}  // namespace

ObjectsJoined join_objects(Pieces& pieces, bool with_edges, Snapshot& snapshot) {
  return Joiner(pieces, snapshot).join(with_edges);
}

}  // namespace heapattach::read
