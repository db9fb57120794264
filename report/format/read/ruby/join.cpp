#include "report/format/read/ruby/join.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/format/read/address_index.h"
#include "report/format/read/ruby/types.h"
#include "report/parallel.h"

namespace heapattach::ruby {

namespace {

using read::AddressIndex;
using snapshot::Object;
using snapshot::ObjectIndex;
using snapshot::Snapshot;

constexpr std::size_t kEdgesAhead = 16;
// The number of objects whose values are stored together, so that a few texts cost little.
constexpr std::uint32_t kValuesTogether = 4096;
// An edge whose object is missing, after resolve_edges; otherwise `to` is an ObjectIndex.
constexpr std::uint64_t kMissing = (std::uint64_t{1} << 48) - 1;

// Objects of a piece whose addresses ascend: Ruby writes its pages one by one.
struct Run {
  std::uint64_t first_address = 0;
  std::uint64_t last_address = 0;
  std::uint32_t piece = 0;
  std::uint32_t begin = 0;  // objects of the piece
  std::uint32_t end = 0;
  std::uint64_t to = 0;          // the index of the first, once all are in order
  std::uint64_t first_edge = 0;  // as well
};

class Joiner {
 public:
  Joiner(RubyPieces& pieces, const Names& names, Snapshot& snapshot)
      : pieces_(pieces), types_(pieces, names, snapshot), snapshot_(snapshot) {}

  Joined join(bool with_edges) && {
    order();
    if (!result_.wrong.empty()) return std::move(result_);
    snapshot_.objects.resize(objects_);
    for_each(runs_.size(), [&](std::size_t run) { copy_objects(runs_[run]); });
    take_texts();
    if (with_edges) {
      join_edges();
    } else {
      check_roots();
    }
    return std::move(result_);
  }

 private:
  template <class Work>
  void for_each(std::size_t count, const Work& work) {
    std::atomic<std::size_t> next = 0;
    run_workers(workers_for(count), [&](unsigned) {
      for (std::size_t at = next++; at < count; at = next++) work(at);
    });
  }

  void wrong(std::size_t piece, std::size_t line, std::string what) {
    if (result_.wrong.empty()) {
      result_.wrong = std::move(what);
      result_.piece = piece;
      result_.line = line;
    }
  }

  // Sorts the objects. Lines may come in any order, but mostly whole pages are in order.
  void order() {
    find_runs(false);
    if (!are_apart()) {
      find_runs(true);
      static_cast<void>(are_apart());
    }
    for (std::size_t i = 1; i < runs_.size(); ++i) {
      if (runs_[i].first_address > runs_[i - 1].last_address) continue;
      const Run& later = std::max(runs_[i - 1], runs_[i], [](const Run& a, const Run& b) {
        return std::pair(a.piece, a.begin) < std::pair(b.piece, b.begin);
      });
      return wrong(later.piece, line_of(later.piece, later.begin),
                   fmt::format("object {:#x} has two lines", later.first_address));
    }
    for (Run& run : runs_) {
      run.to = objects_;
      objects_ += run.end - run.begin;
    }
    if (objects_ >= AddressIndex::kNone) wrong(0, 1, "more than four billion objects");
  }

  void find_runs(bool each_alone) {
    runs_.clear();
    for (std::size_t at = 0; at < pieces_.all.size(); ++at) {
      const auto& objects = pieces_.all[at].objects;
      for (std::uint32_t i = 0; i < objects.size(); ++i) {
        const std::uint64_t address = objects[i].address;
        const bool begins =
            i == 0 || each_alone || address <= std::uint64_t{objects[i - 1].address};
        if (begins) runs_.push_back({address, address, static_cast<std::uint32_t>(at), i, i, 0, 0});
        runs_.back().last_address = address;
        runs_.back().end = i + 1;
      }
    }
  }

  bool are_apart() {
    std::sort(runs_.begin(), runs_.end(), [](const Run& a, const Run& b) {
      return std::tie(a.first_address, a.piece, a.begin) <
             std::tie(b.first_address, b.piece, b.begin);
    });
    return std::adjacent_find(runs_.begin(), runs_.end(), [](const Run& a, const Run& b) {
             return b.first_address <= a.last_address;
           }) == runs_.end();
  }

  [[nodiscard]] std::size_t line_of(std::size_t piece, std::uint32_t object) const {
    const auto& lines = pieces_.all[piece].object_lines;
    const auto after =
        std::upper_bound(lines.begin(), lines.end(), object,
                         [](std::uint32_t wanted, const auto& row) { return wanted < row.first; });
    const auto& [first, line] = *std::prev(after);
    return line + (object - first);
  }

  void copy_objects(const Run& run) {
    const RubyPiece& piece = pieces_.all[run.piece];
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      Object object = piece.objects[i];
      object.type = types_.of(*piece.tables, object.type).type;
      object.size_class = types_.size_of(*piece.tables, object.size_class);
      snapshot_.objects[run.to + (i - run.begin)] = object;
    }
  }

  void take_texts() {
    for (const Run& run : runs_) {
      const RubyPiece& piece = pieces_.all[run.piece];
      auto text = std::lower_bound(
          piece.texts.begin(), piece.texts.end(), run.begin,
          [](const Text& one, std::uint32_t wanted) { return one.object < wanted; });
      for (; text != piece.texts.end() && text->object < run.end; ++text) {
        take_text(piece, *text, run.to + (text->object - run.begin));
      }
    }
    for (auto& values : snapshot_.values) {
      const auto last = static_cast<std::uint32_t>(values.values.size());
      values.first_value.push_back(last);
    }
  }

  // Objects come in ascending order.
  void take_text(const RubyPiece& piece, const Text& text, std::uint64_t object) {
    const auto first = static_cast<std::uint32_t>(object / kValuesTogether * kValuesTogether);
    if (snapshot_.values.empty() || snapshot_.values.back().first_object != first) {
      snapshot_.values.emplace_back().first_object = first;
    }
    auto& values = snapshot_.values.back();
    values.first_value.resize(object - first + 1, static_cast<std::uint32_t>(values.values.size()));
    if (text.is_plain && text.bytes == 0) return;  // nil: the type has such a field
    snapshot::Value value;
    value.at = values.text.size();
    value.bytes = text.bytes;
    value.is_cut = text.is_cut;
    value.is_text = !text.is_plain;
    if (text.key != PackedEdge::kReference) {
      value.path = types_.path(*piece.tables, piece.objects[text.object].type, text.key);
    }
    values.text.append(piece.text, text.at, text.bytes);
    values.values.push_back(value);
  }

  void join_edges() {
    const AddressIndex index(snapshot_.objects);
    missing_.resize(pieces_.all.size());
    for_each(pieces_.all.size(), [&](std::size_t piece) { resolve_edges(piece, index); });
    for (std::size_t at = 0; at < pieces_.all.size(); ++at) {
      result_.references += pieces_.all[at].edges.size();
      result_.missing += missing_[at];
    }
    std::vector<std::uint64_t> counts(runs_.size());
    find_classes(index);
    for_each(runs_.size(), [&](std::size_t run) { counts[run] = count_edges(runs_[run]); });
    std::uint64_t edges = 0;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      runs_[run].first_edge = edges;
      edges += counts[run];
    }
    snapshot_.edges.resize(edges);
    snapshot_.first_edge.resize(objects_ + 1);
    snapshot_.first_edge[objects_] = edges;
    for_each(runs_.size(), [&](std::size_t run) { copy_edges(runs_[run]); });
    for (RubyPiece& piece : pieces_.all) piece.edges = {};
    take_roots(index);
  }

  // Replaces addresses by objects.
  void resolve_edges(std::size_t at, const AddressIndex& index) {
    auto& edges = pieces_.all[at].edges;
    std::uint64_t missing = 0;
    for (std::size_t e = 0; e < edges.size(); ++e) {
      if (e + kEdgesAhead < edges.size()) index.prefetch(edges[e + kEdgesAhead].to);
      const std::uint64_t address = edges[e].to;
      const ObjectIndex found = address == 0 ? AddressIndex::kNone : index.find(address);
      if (address != 0 && found == AddressIndex::kNone) ++missing;
      edges[e].to = found == AddressIndex::kNone ? kMissing : found;
    }
    missing_[at] = missing;
  }

  // The object of each Identity's class.
  void find_classes(const AddressIndex& index) {
    for (const Tables& tables : pieces_.tables) {
      auto& found = classes_.emplace_back();
      for (const Identity& identity : tables.types) {
        found.push_back(identity.of_class == 0 ? AddressIndex::kNone
                                               : index.find(identity.of_class));
      }
    }
  }
  [[nodiscard]] ObjectIndex class_of(const RubyPiece& piece, const Object& object) const {
    std::size_t worker = 0;
    while (&pieces_.tables[worker] != piece.tables) ++worker;
    return classes_[worker][object.type];
  }

  [[nodiscard]] std::uint64_t count_edges(const Run& run) const {
    const RubyPiece& piece = pieces_.all[run.piece];
    std::uint64_t count = 0;
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      if (class_of(piece, piece.objects[i]) != AddressIndex::kNone) ++count;
    }
    for (std::uint32_t e = first_edge_of(piece, run.begin); e < piece.edge_ends[run.end - 1]; ++e) {
      if (piece.edges[e].to != kMissing) ++count;
    }
    return count;
  }
  static std::uint32_t first_edge_of(const RubyPiece& piece, std::uint32_t object) {
    return object == 0 ? 0 : piece.edge_ends[object - 1];
  }

  void copy_edges(const Run& run) {
    const RubyPiece& piece = pieces_.all[run.piece];
    std::uint64_t to = run.first_edge;
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      snapshot_.first_edge[run.to + (i - run.begin)] = to;
      const auto& words = types_.of(*piece.tables, piece.objects[i].type);
      const ObjectIndex of_class = class_of(piece, piece.objects[i]);
      if (of_class != AddressIndex::kNone) {
        snapshot_.edges[to++] = {JoinedTypes::EdgeWords::kClass, of_class};
      }
      const std::uint32_t first = first_edge_of(piece, i);
      const std::uint32_t end = piece.edge_ends[i];
      const bool are_named = !words.variables.empty() && words.variables.size() == end - first;
      for (std::uint32_t e = first; e < end; ++e) {
        const PackedEdge edge = piece.edges[e];
        if (edge.to == kMissing) continue;
        const auto key = static_cast<std::uint16_t>(edge.key);
        const std::uint64_t word = are_named ? words.variables[e - first]
                                             : types_.word(*piece.tables, words, key, e - first);
        snapshot_.edges[to++] = {static_cast<std::uint32_t>(word),
                                 static_cast<ObjectIndex>(edge.to)};
      }
    }
  }

  // Without edges, the roots alone show whether objects are missing.
  void check_roots() {
    for (const RubyPiece& piece : pieces_.all) {
      for (const RootRecord& record : piece.roots) {
        for (const std::uint64_t to : record.to) {
          ++result_.root_references;
          if (!is_object(to)) ++result_.missing_roots;
        }
      }
    }
  }
  [[nodiscard]] bool is_object(std::uint64_t address) const {
    const auto at = std::partition_point(
        snapshot_.objects.begin(), snapshot_.objects.end(),
        [&](const Object& object) { return std::uint64_t{object.address} < address; });
    return at != snapshot_.objects.end() && std::uint64_t{at->address} == address;
  }

  void take_roots(const AddressIndex& index) {
    for (const RubyPiece& piece : pieces_.all) {
      for (const RootRecord& record : piece.roots) {
        for (const std::uint64_t to : record.to) {
          ++result_.root_references;
          const ObjectIndex found = index.find(to);
          if (found == AddressIndex::kNone) {
            ++result_.missing_roots;
          } else {
            add_root(record.name, found);
          }
        }
      }
    }
  }

  void add_root(const std::string& name, ObjectIndex to) {
    snapshot::Root root;
    const bool is_stack = name == "machine_context" || name == "stack_and_registers" ||
                          name == "stack" || name == "registers";
    root.kind = is_stack ? snapshot::RootKind::Stack : snapshot::RootKind::Global;
    root.symbol = is_stack ? std::string() : name;
    root.to = to;
    snapshot_.roots.push_back(std::move(root));
  }

  RubyPieces& pieces_;
  JoinedTypes types_;
  Snapshot& snapshot_;
  std::vector<Run> runs_;  // by address
  std::uint64_t objects_ = 0;
  std::vector<std::uint64_t> missing_;             // by piece
  std::vector<std::vector<ObjectIndex>> classes_;  // by worker and Identity
  Joined result_;
};

}  // namespace

Joined join(RubyPieces& pieces, const Names& names, bool with_edges, Snapshot& snapshot) {
  return Joiner(pieces, names, snapshot).join(with_edges);
}

}  // namespace heapattach::ruby
