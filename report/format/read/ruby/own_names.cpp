#include "report/format/read/ruby/own_names.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

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
          // What else has instance variables has other references too.
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

}  // namespace

void apply_own_names(RubyPieces& pieces) {
  Namer(pieces).run();
}

}  // namespace heapattach::ruby
