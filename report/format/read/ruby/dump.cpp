#include "report/format/read/ruby/dump.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/format/read/ruby/join.h"
#include "report/format/read/ruby/names.h"
#include "report/format/read/ruby/pieces.h"
#include "report/model/counts.h"

namespace heapattach::ruby {

namespace {

bool is_before(const OwnName& a, const OwnName& b) {
  return std::tie(a.address, a.to) < std::tie(b.address, b.to);
}

class Namer {
 public:
  explicit Namer(RubyPieces& pieces) : pieces_(pieces) {
    for (RubyPiece& piece : pieces_.all) {
      for (OwnName& name : piece.own_names) names_.push_back(std::move(name));
      piece.own_names = {};
    }
    std::stable_sort(names_.begin(), names_.end(), is_before);
  }

  void run() {
    if (names_.empty()) return;
    for (RubyPiece& piece : pieces_.all) {
      if (piece.tables == nullptr) continue;
      Tables& tables = *std::find_if(pieces_.tables.begin(), pieces_.tables.end(),
                                     [&](const Tables& one) { return &one == piece.tables; });
      name_edges(piece, tables);
      name_roots(piece);
    }
  }

 private:
  void name_edges(RubyPiece& piece, Tables& tables) {
    std::uint32_t first = 0;
    for (std::size_t i = 0; i < piece.objects.size() && !piece.edges.empty(); ++i) {
      const std::uint32_t end = piece.edge_ends[i];
      const std::uint64_t address = piece.objects[i].address;
      auto name = std::lower_bound(
          names_.begin(), names_.end(), address,
          [](const OwnName& one, std::uint64_t wanted) { return one.address < wanted; });
      for (; name != names_.end() && name->address == address; ++name) {
        const Identity& identity = tables.types[piece.objects[i].type];
        if (name->to == 0) {
          // Other kinds of objects with instance variables have other references too.
          if (tables.kinds[identity.kind] != "OBJECT") continue;
          name_variables(piece, tables, {first, end}, name->text);
        } else {
          name_one(piece, tables.key(name->text), {first, end}, name->to);
        }
      }
      first = end;
    }
  }

  static void name_one(RubyPiece& piece,
                       std::uint16_t key,
                       std::pair<std::uint32_t, std::uint32_t> edges,
                       std::uint64_t to) {
    for (std::uint32_t e = edges.first; e < edges.second; ++e) {
      if (piece.edges[e].to != to || piece.edges[e].key != PackedEdge::kReference) continue;
      piece.edges[e].key = key;
      return;
    }
  }

  static void name_variables(RubyPiece& piece,
                             Tables& tables,
                             std::pair<std::uint32_t, std::uint32_t> edges,
                             std::string_view names) {
    const auto count = std::count(names.begin(), names.end(), ' ') + 1;
    if (count != edges.second - edges.first) return;
    for (std::uint32_t e = edges.first; e < edges.second; ++e) {
      const std::size_t length = std::min(names.find(' '), names.size());
      piece.edges[e].key = tables.key(names.substr(0, length));
      names.remove_prefix(std::min(length + 1, names.size()));
    }
  }

  // Globals are roots: the addresses of their values have a name of their own.
  void name_roots(RubyPiece& piece) {
    std::vector<RootRecord> named;
    for (RootRecord& root : piece.roots) {
      if (root.name != "global_tbl") continue;
      for (std::uint64_t& to : root.to) {
        const OwnName wanted{0, to, {}};
        const auto name = std::lower_bound(names_.begin(), names_.end(), wanted, is_before);
        if (name == names_.end() || name->address != 0 || name->to != to) continue;
        named.push_back({name->text, {to}});
        to = 0;
      }
      std::erase(root.to, 0);
    }
    std::move(named.begin(), named.end(), std::back_inserter(piece.roots));
  }

  RubyPieces& pieces_;
  std::vector<OwnName> names_;
};

// Names the edges and roots of a dump written by a copy of a process. Ruby's dumps contain no such
// names, so our code in the copy writes additional lines before the dump.
//
// - CONST: `address` is a module that has `class` as the constant, class variable or instance
//   variable `name`.
// - IVARS: `name` lists the instance variables of `address` that are references, in order.
//   Used only if the object has the same number of references, because symbols and numbers may or
//   may not be references.
// - GLOBAL: `class` is the value of the global variable `name`.
//
// Call it before the pieces are joined. It consumes these lines.
void apply_own_names(RubyPieces& pieces) {
  Namer(pieces).run();
}

using snapshot::Snapshot;

// In a whole file, one in this many references may be to an object that is missing.
constexpr std::uint64_t kFewMissing = 100;
// Roots have few references: tolerates one in this many, or a few in all.
constexpr std::uint64_t kFewMissingOfRoots = 50;
constexpr std::uint64_t kFewInAll = 10;

Error broken(const std::string& file,
             const RubyPieces& pieces,
             std::size_t piece,
             std::size_t line,
             std::string_view what) {
  for (std::size_t before = 0; before < piece; ++before) line += pieces.all[before].lines;
  return {ErrorKind::Malformed, fmt::format("{}, line {}: {}", file, line, what)};
}

// A file of shapes alone: each is an object that references the one that it was made from.
void take_shapes_as_objects(RubyPieces& pieces) {
  std::unordered_map<std::uint64_t, std::uint64_t> addresses;  // by id
  for (const RubyPiece& piece : pieces.all) {
    if (!piece.objects.empty()) return;
    for (const ShapeRecord& shape : piece.shapes) addresses.emplace(shape.id, shape.address);
  }
  Tables& tables = pieces.tables.front();
  for (RubyPiece& piece : pieces.all) {
    if (!piece.shapes.empty()) piece.tables = &tables;
    for (const ShapeRecord& shape : piece.shapes) {
      Identity identity;
      identity.kind = tables.kind("SHAPE", shape.kind);
      snapshot::Object object{};
      object.address = shape.address & ((std::uint64_t{1} << 48) - 1);
      object.is_reachable = 1;
      object.type = tables.type(identity);
      object.size_class = tables.sizes.size_class(shape.memsize != 0 ? shape.memsize : 1);
      if (!shape.name.empty()) piece.add_text(shape.name);
      const auto parent = shape.parent ? addresses.find(*shape.parent) : addresses.end();
      if (parent != addresses.end()) {
        piece.edges.push_back(
            {parent->second & ((std::uint64_t{1} << 48) - 1), tables.key("parent")});
      }
      piece.add(object);
    }
  }
}

// Why the dump is partial; empty if it is whole.
std::string what_is_missing(const RubyPieces& pieces,
                            const Joined& joined,
                            const DumpOptions& options) {
  bool is_cut = pieces.is_cut;
  bool has_end = false;
  std::size_t lines = 0;
  for (const RubyPiece& piece : pieces.all) {
    is_cut |= piece.is_cut;
    has_end |= piece.has_end;
    lines += piece.lines;
  }
  const bool needs_end = pieces.is_heap_dump || !options.own_file.empty();
  if (is_cut || (needs_end && !has_end)) {
    return fmt::format("the dump ends early, at line {}", lines);
  }
  if (needs_end) return {};
  if (joined.missing_roots > kFewInAll &&
      joined.missing_roots * kFewMissingOfRoots > joined.root_references) {
    return fmt::format(
        "{} of {} references of roots are to objects that the dump lacks: it was cut off, or made "
        "with since:",
        joined.missing_roots, joined.root_references);
  }
  if (joined.missing * kFewMissing <= joined.references) return {};
  return fmt::format(
      "{} of {} references are to objects that the dump lacks: it was cut off, or made with the "
      "option since:",
      joined.missing, joined.references);
}

void report_missing(const RubyPieces& pieces, const Joined& joined, const DumpOptions& options) {
  const std::uint64_t missing = joined.missing + joined.missing_roots;
  if (missing == 0 || !options.note) return;
  options.note(fmt::format(
      "{} references are {}", missing,
      pieces.is_heap_dump ? "plain numbers" : "to objects that the dump lacks, and are left out"));
}

}  // namespace

bool is_dump(const read::TextFile& file) {
  std::string_view beginning = file.beginning();
  if (beginning.starts_with("{\"type\"") || beginning.starts_with("{\"address\"")) return true;
  if (!beginning.starts_with('[')) return false;
  beginning.remove_prefix(1);
  while (!beginning.empty() && (beginning.front() == '\n' || beginning.front() == ' ')) {
    beginning.remove_prefix(1);
  }
  return beginning.starts_with("{\"id\":");
}

Result<Snapshot> read_dump(read::TextFile file, const DumpOptions& given) {
  const std::string name = file.name();
  DumpOptions options = given;
  options.has_own_table =
      !options.own_file.empty() && !file.beginning().starts_with("{\"type\":\"TRACED\"}");
  RubyPieces pieces = HA_TRY(read_pieces(std::move(file), options));
  std::uint64_t free_slots = 0;
  for (std::size_t at = 0; at < pieces.all.size(); ++at) {
    const auto& wrong = pieces.all[at].wrong;
    if (wrong) return broken(name, pieces, at, wrong->line, wrong->what);
    free_slots += pieces.all[at].free_slots;
  }
  take_shapes_as_objects(pieces);
  apply_own_names(pieces);
  Snapshot snapshot;
  snapshot.header.source = pieces.is_heap_dump ? "heap_dump" : "dump_all";
  snapshot.header.runtime = "ruby";
  const Names names(pieces);
  const Joined joined = join(pieces, names, options.with_edges, snapshot);
  if (!joined.wrong.empty()) return broken(name, pieces, joined.piece, joined.line, joined.wrong);
  if (snapshot.objects.empty()) {
    return Error{ErrorKind::Malformed, fmt::format("{} lists no objects", name)};
  }
  if (free_slots != 0 && options.note) {
    options.note(fmt::format("{} free slots are left out", free_slots));
  }
  report_missing(pieces, joined, options);
  snapshot.reason = what_is_missing(pieces, joined, options);
  snapshot.complete = snapshot.reason.empty();
  if (options.with_edges) snapshot.header.typed = count_objects(snapshot).typed;
  return snapshot;
}

}  // namespace heapattach::ruby
