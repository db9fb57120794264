#include "report/format/read/ruby/own_lines.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "symbols/text/json_grammar.h"

namespace heapattach::ruby {

namespace {

Tables& tables_of(RubyPieces& pieces, const RubyPiece& piece) {
  return *std::find_if(pieces.tables.begin(), pieces.tables.end(),
                       [&](const Tables& one) { return &one == piece.tables; });
}

// The number of a name. The keys of Hashes must not use up the numbers; kReference for those that
// have none.
std::uint16_t key_of(Tables& tables, std::string_view name) {
  constexpr std::size_t kMostBeforeHashes = 32768;
  const bool is_of_hash = name.starts_with('[');
  if (is_of_hash && tables.keys.size() >= kMostBeforeHashes) return PackedEdge::kReference;
  return tables.key(name);
}

constexpr std::string_view kFields = "IMEMO fields";

bool is_of_fields(const Tables& tables, const snapshot::Object& object) {
  return tables.kinds[tables.types[object.type].kind] == kFields;
}

bool is_before(const OwnName& a, const OwnName& b) {
  return std::tie(a.address, a.to) < std::tie(b.address, b.to);
}

// The addresses of the objects that hold the instance variables of others, ascending: since 4.0
// those of classes, and of objects with many.
std::vector<std::uint64_t> objects_of_fields(const RubyPieces& pieces) {
  std::vector<std::uint64_t> found;
  for (const RubyPiece& piece : pieces.all) {
    if (piece.tables == nullptr || piece.edges.empty()) continue;
    for (const snapshot::Object& object : piece.objects) {
      if (is_of_fields(*piece.tables, object)) found.push_back(object.address);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// The records in order of their addresses, moved out of the pieces.
template <class Record>
std::vector<Record> take_all(RubyPieces& pieces, std::vector<Record> RubyPiece::*records) {
  std::vector<Record> all;
  for (RubyPiece& piece : pieces.all) {
    std::ranges::move(std::exchange(piece.*records, {}), std::back_inserter(all));
  }
  std::ranges::stable_sort(all, {}, &Record::address);
  return all;
}

class Namer {
 public:
  explicit Namer(RubyPieces& pieces)
      : pieces_(pieces), names_(take_all(pieces, &RubyPiece::own_names)) {
    std::stable_sort(names_.begin(), names_.end(), is_before);
    if (!names_.empty()) fields_ = objects_of_fields(pieces_);
  }

  void run() {
    if (names_.empty()) return;
    for (RubyPiece& piece : pieces_.all) name_roots(piece);
    name_all();
    names_ = std::exchange(of_fields_, {});
    std::stable_sort(names_.begin(), names_.end(), is_before);
    if (!names_.empty()) name_all();
  }

 private:
  void name_all() {
    for (RubyPiece& piece : pieces_.all) {
      if (piece.tables != nullptr) name_edges(piece, tables_of(pieces_, piece));
    }
  }

  void name_edges(RubyPiece& piece, Tables& tables) {
    std::uint32_t first = 0;
    for (std::size_t i = 0; i < piece.objects.size() && !piece.edges.empty(); ++i) {
      const std::uint32_t end = piece.edge_ends[i];
      const std::uint64_t address = piece.objects[i].address;
      auto name = std::lower_bound(
          names_.begin(), names_.end(), address,
          [](const OwnName& one, std::uint64_t wanted) { return one.address < wanted; });
      const auto after = std::find_if(name, names_.end(),
                                      [&](const OwnName& one) { return one.address != address; });
      name_edges_of(piece, tables, i, {first, end}, {name, after});
      first = end;
    }
  }

  // Collects the edges without a name: the address that each references, and its number, sorted by
  // address.
  static std::vector<std::pair<std::uint64_t, std::uint32_t>> unnamed_edges(
      const RubyPiece& piece, std::pair<std::uint32_t, std::uint32_t> edges) {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> unnamed;
    for (std::uint32_t e = edges.first; e < edges.second; ++e) {
      const std::uint64_t to = piece.edges[e].to;
      if (piece.edges[e].key == PackedEdge::kReference) unnamed.emplace_back(to, e);
    }
    std::sort(unnamed.begin(), unnamed.end());
    return unnamed;
  }

  // `names` are sorted by what they reference. Each names the first such edge without a name. If
  // the object's variables are in an object of their own, that one has the edges of all other
  // names.
  void name_edges_of(RubyPiece& piece,
                     Tables& tables,
                     std::size_t object,
                     std::pair<std::uint32_t, std::uint32_t> edges,
                     std::span<const OwnName> names) {
    if (names.empty()) return;
    const std::uint64_t holder = name_holder(piece, tables, edges);
    const auto move_to_holder = [&](const OwnName& name) {
      if (holder != 0) of_fields_.push_back({holder, name.to, name.text});
    };
    const std::string& kind = tables.kinds[tables.types[piece.objects[object].type].kind];
    // Other kinds of objects with instance variables have other references too.
    const bool are_variables = holder == 0 && (kind == "OBJECT" || kind == kFields);
    while (!names.empty() && names.front().to == 0) {
      if (are_variables) name_variables(piece, tables, edges, names.front().text);
      move_to_holder(names.front());
      names = names.subspan(1);
    }
    // The variables of an Array come before its elements.
    if (!names.empty() && kind == "ARRAY") {
      for (std::uint32_t e = edges.first; e < edges.second; ++e) {
        PackedEdge& edge = piece.edges[e];
        if (edge.key == PackedEdge::kElement) edge.key = PackedEdge::kReference;
      }
    }
    const auto unnamed = unnamed_edges(piece, edges);
    auto edge = unnamed.begin();
    for (const OwnName& name : names) {
      while (edge != unnamed.end() && edge->first < name.to) ++edge;
      if (edge != unnamed.end() && edge->first == name.to) {
        piece.edges[(edge++)->second].key = key_of(tables, name.text);
      } else {
        move_to_holder(name);
      }
    }
  }

  // The object that holds the variables of the one with these edges; 0: there is none.
  std::uint64_t name_holder(RubyPiece& piece,
                            Tables& tables,
                            std::pair<std::uint32_t, std::uint32_t> edges) const {
    for (std::uint32_t e = edges.first; e < edges.second; ++e) {
      PackedEdge& edge = piece.edges[e];
      if (edge.key != PackedEdge::kReference) continue;
      if (!std::binary_search(fields_.begin(), fields_.end(), std::uint64_t{edge.to})) continue;
      edge.key = tables.key("fields");
      return edge.to;
    }
    return 0;
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
  std::vector<std::uint64_t> fields_;  // objects that hold the variables of others
  std::vector<OwnName> of_fields_;     // names of their edges
};

// Gives their texts to Strings, and the fields' values to their objects.
class Valuer {
 public:
  explicit Valuer(RubyPieces& pieces)
      : pieces_(pieces),
        values_(take_all(pieces, &RubyPiece::own_values)),
        texts_(take_all(pieces, &RubyPiece::own_texts)) {}

  void run() {
    if (values_.empty() && texts_.empty()) return;
    for (RubyPiece& piece : pieces_.all) {
      if (piece.tables != nullptr) add_values(piece, tables_of(pieces_, piece));
    }
  }

 private:
  void add_values(RubyPiece& piece, Tables& tables) const {
    const std::vector<Text> own = std::exchange(piece.texts, {});
    auto text = own.begin();
    for (std::uint32_t i = 0; i < piece.objects.size(); ++i) {
      const std::uint64_t address = piece.objects[i].address;
      if (text == own.end() || text->object != i) add_text(piece, tables, i);
      for (; text != own.end() && text->object == i; ++text) piece.texts.push_back(*text);
      auto values = std::lower_bound(
          values_.begin(), values_.end(), address,
          [](const OwnValues& one, std::uint64_t wanted) { return one.address < wanted; });
      for (; values != values_.end() && values->address == address; ++values) {
        add_fields(piece, tables, i, values->text);
      }
    }
  }

  // For a String that has none in the dump.
  void add_text(RubyPiece& piece, const Tables& tables, std::uint32_t object) const {
    const std::uint64_t address = piece.objects[object].address;
    const auto own = std::ranges::lower_bound(texts_, address, {}, &OwnText::address);
    if (own == texts_.end() || own->address != address) return;
    if (tables.kinds[tables.types[piece.objects[object].type].kind] != "STRING") return;
    piece.texts.push_back({.object = object,
                           .bytes = static_cast<std::uint32_t>(own->text.size()),
                           .at = piece.text.size(),
                           .is_cut = own->is_cut});
    piece.text += own->text;
  }

  static void add_fields(RubyPiece& piece,
                         Tables& tables,
                         std::uint32_t object,
                         std::string_view fields) {
    while (!fields.empty()) {
      const std::string_view field = fields.substr(0, fields.find(' '));
      fields.remove_prefix(std::min(field.size() + 1, fields.size()));
      const std::size_t sign = field.find('=');
      if (sign == std::string_view::npos) continue;
      add_field(piece, key_of(tables, field.substr(0, sign)), object, field.substr(sign + 1));
    }
  }

  // A number, also one with too many digits to be written, or a constant.
  static bool is_plain(std::string_view value) {
    constexpr std::string_view kOthers[]{"nil", "true", "false", "Infinity", "-Infinity", "NaN"};
    const char* const end = value.data() + value.size();
    return std::ranges::find(kOthers, value) != std::end(kOthers) ||
           end_of_number(value.data(), end) == end ||
           (value.starts_with('<') && value.ends_with("_bits>"));
  }

  // The process may have written anything.
  static void add_field(RubyPiece& piece,
                        std::uint16_t key,
                        std::uint32_t object,
                        std::string_view value) {
    const bool is_symbol = value.starts_with(':') || value.starts_with(';');
    if (key == PackedEdge::kReference || !(is_symbol || is_plain(value))) return;
    std::string shown = is_symbol ? own_text(value) : std::string(value);
    if (value == "nil") shown.clear();
    Text text;
    text.object = object;
    text.bytes = static_cast<std::uint32_t>(shown.size());
    text.at = piece.text.size();
    text.is_plain = !is_symbol;
    text.key = key;
    piece.text += shown;
    piece.texts.push_back(text);
  }

  RubyPieces& pieces_;
  std::vector<OwnValues> values_;  // by address
  std::vector<OwnText> texts_;     // as well
};

}  // namespace

void apply_own_lines(RubyPieces& pieces) {
  Namer(pieces).run();
  Valuer(pieces).run();
}

}  // namespace heapattach::ruby
