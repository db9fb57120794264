#include "report/format/read/ruby/pieces.h"

#include <algorithm>
#include <limits>
#include <mutex>

#include <fmt/format.h>

#include "attach/arch/addresses.h"
#include "report/format/read/read_blocks.h"
#include "report/format/read/ruby/heap_dump.h"
#include "report/format/read/ruby/line.h"
#include "report/parallel.h"
#include "symbols/text/json_grammar.h"

namespace heapattach::ruby {

namespace {

using read::LineBlock;
using read::Wrong;

constexpr std::uint64_t kSlotBytes = 40;  // of every object before Ruby 3.2

std::string decoded(std::string_view raw) {
  std::string text;
  return decode_escapes(raw, text).empty() ? text : std::string(raw);
}

int digit(char letter) {
  const auto at = std::string_view("0123456789abcdef").find(letter);
  return at == std::string_view::npos ? 0 : static_cast<int>(at);
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

// Reads the lines of ObjectSpace.dump_all.
class BlockReader {
 public:
  BlockReader(Tables& tables, const LineBlock& block, const DumpOptions& options)
      : tables_(tables), block_(block), options_(options) {
    piece_.tables = &tables;
    superclass_ = tables.key("superclass");
    piece_.objects.reserve(block.size / 128);
    piece_.edge_ends.reserve(block.size / 128);
  }

  RubyPiece read(bool is_heap_dump) && {
    std::string_view text = block_.text();
    HeapDumpLines gem(tables_, piece_, options_);
    while (!text.empty() && !piece_.wrong) {
      const auto end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      ++piece_.lines;
      if (is_blank(line)) continue;
      std::string wrong = is_heap_dump ? gem.read(line) : read_one(line);
      if (wrong.empty()) continue;
      if (text.empty() && block_.is_last_line_cut) {
        piece_.is_cut = true;
      } else {
        piece_.wrong = Wrong{piece_.lines, std::move(wrong)};
      }
    }
    return std::move(piece_);
  }

 private:
  std::string read_one(std::string_view text) {
    std::string wrong = read_line(text, line_);
    if (!wrong.empty()) return wrong;
    if (line_.type == "ROOT") {
      piece_.roots.push_back({decoded(line_.root), line_.references});
      return {};
    }
    if (line_.type == "END") {
      piece_.has_end = true;
      return {};
    }
    if (line_.type == "TRACED") return {};
    if (!options_.own_file.empty() && read_own_name()) return {};
    if (line_.type.empty()) return "it has no type: this is not a line of a Ruby dump";
    if (line_.address == 0) return "an object without an address";
    if (line_.type == "NONE") {
      ++piece_.free_slots;
      return {};
    }
    if (line_.type == "SHAPE") {
      add_shape();
      return {};
    }
    return is_ours() ? std::string() : add_object();
  }

  // Whether the object was made in the copy, by our code or by finalizers of the program. If the
  // program did not trace its allocations, no other object has a place where it was made.
  [[nodiscard]] bool is_ours() const {
    if (!options_.own_file.empty() && line_.file == options_.own_file) return true;
    if (options_.has_own_table && !options_.by_line && !line_.file.empty()) return true;
    return options_.has_own_table && line_.detail == "ObjectTracing/allocation_info_tracer";
  }

  bool read_own_name() {
    if (line_.type == "VALUES") {
      piece_.own_values.push_back({line_.address, decoded(line_.name)});
      return true;
    }
    if (line_.type == "TEXT") {
      std::string text = own_text(line_.name);
      const bool is_cut = line_.length > text.size();
      piece_.own_texts.push_back({line_.address, std::move(text), is_cut});
      return true;
    }
    const bool is_of_one = line_.type == "CONST" || line_.type == "GLOBAL";
    if (!is_of_one && line_.type != "IVARS") return false;
    if (is_of_one && line_.of_class == 0) return true;
    if (line_.type != "GLOBAL" && line_.address == 0) return true;
    piece_.own_names.push_back({line_.address, line_.of_class, decoded(line_.name)});
    return true;
  }

  void add_shape() {
    ShapeRecord shape{line_.address, line_.id, {}, line_.memsize, std::string(line_.detail), {}};
    if (line_.has_parent) shape.parent = line_.parent;
    if (shape.kind == "IVAR") shape.name = decoded(line_.edge_name);
    piece_.shapes.push_back(std::move(shape));
  }

  std::string add_object() {
    if (piece_.edges.size() > std::numeric_limits<std::uint32_t>::max()) return "too many edges";
    const bool is_class = line_.type == "CLASS";
    if (is_class || line_.type == "MODULE" || line_.type == "ICLASS") add_class();
    // Ruby writes no size of 0. Our own export does, for types that are no objects of the heap.
    if (is_class && line_.has_memsize && line_.memsize == 0) return {};
    Identity identity;
    // An imemo or node has other data where objects have their class.
    identity.of_class = line_.type == "IMEMO" || line_.type == "NODE" ? 0 : line_.of_class;
    if (line_.type == "OBJECT" && line_.has_shape) identity.shape = line_.shape;
    identity.kind = tables_.kind(line_.type, line_.detail);
    identity.is_singleton = is_class && line_.is_singleton;
    if (options_.by_line && !line_.file.empty()) {
      identity.site = tables_.site(line_.file, line_.line);
    }
    snapshot::Object object{};
    object.address = line_.address & ((std::uint64_t{1} << 48) - 1);
    object.is_reachable = 1;
    object.type = tables_.type(identity);
    if (line_.memsize >= kUsualAddressEnd) return "an impossible size";
    const std::uint64_t size = line_.memsize != 0 ? line_.memsize : line_.slot_size;
    object.size_class = tables_.sizes.size_class(size != 0 ? size : kSlotBytes);
    if (options_.text_bytes != 0 && line_.has_value &&
        (line_.type == "STRING" || line_.type == "SYMBOL")) {
      piece_.add_text(decoded(line_.value), options_.text_bytes);
    }
    if (options_.with_edges) add_edges();
    piece_.add(object);
    return {};
  }

  void add_edges() {
    const bool is_whole_array =
        line_.type == "ARRAY" && !line_.is_shared && line_.length == line_.references.size();
    bool has_superclass = line_.superclass == 0;
    for (const std::uint64_t to : line_.references) {
      std::uint16_t key = is_whole_array ? PackedEdge::kElement : PackedEdge::kReference;
      if (!has_superclass && to == line_.superclass) {
        key = superclass_;
        has_superclass = true;
      }
      piece_.edges.push_back({to & ((std::uint64_t{1} << 48) - 1), key});
    }
  }

  void add_class() {
    ClassRecord record{line_.address,      line_.superclass,       decoded(line_.name),
                       line_.is_singleton, line_.type == "ICLASS", line_.type == "MODULE"};
    const bool is_object = !line_.has_memsize || line_.memsize != 0;
    if (is_object && !record.name.empty() && !record.is_singleton) piece_.add_text(record.name);
    piece_.classes.push_back(std::move(record));
  }

  Tables& tables_;
  const LineBlock& block_;
  const DumpOptions& options_;
  RubyPiece piece_;
  Line line_;
  std::uint16_t superclass_ = 0;
};

}  // namespace

std::string own_text(std::string_view written) {
  if (!written.starts_with(';')) {
    return std::string(written.substr(std::min<std::size_t>(written.size(), 1)));
  }
  written.remove_prefix(1);
  std::string text;
  for (std::size_t i = 0; i + 1 < written.size(); i += 2) {
    text += static_cast<char>(digit(written[i]) * 16 + digit(written[i + 1]));
  }
  return text;
}

std::size_t Tables::Hash::operator()(const Identity& identity) const {
  std::uint64_t hash = identity.of_class * 0x9e3779b97f4a7c15;
  hash = (hash ^ identity.shape ^ (hash >> 29)) * 0xbf58476d1ce4e5b9;
  hash ^= std::uint64_t{identity.kind} << 32 ^ std::uint64_t{identity.site} << 8 ^
          std::uint64_t{identity.is_singleton};
  return hash * 0x94d049bb133111eb >> 20;
}

std::uint32_t Tables::kind(std::string_view type, std::string_view detail) {
  text_ = type;
  if (!detail.empty()) text_.append(" ").append(detail);
  const auto known = kind_numbers_.find(text_);
  if (known != kind_numbers_.end()) return known->second;
  kinds.push_back(text_);
  return kind_numbers_.emplace(text_, static_cast<std::uint32_t>(kinds.size() - 1)).first->second;
}

std::uint32_t Tables::site(std::string_view file, std::uint64_t line) {
  text_ = fmt::format("{}:{}", decoded(file), line);
  const auto known = site_numbers_.find(text_);
  if (known != site_numbers_.end()) return known->second;
  sites.push_back(text_);
  return site_numbers_.emplace(text_, static_cast<std::uint32_t>(sites.size() - 1)).first->second;
}

std::uint16_t Tables::key(std::string_view name) {
  const auto known = key_numbers_.find(name);
  if (known != key_numbers_.end()) return known->second;
  const std::size_t number = PackedEdge::kFirstName + keys.size();
  if (number > std::numeric_limits<std::uint16_t>::max()) return PackedEdge::kReference;
  keys.emplace_back(name);
  return key_numbers_.emplace(name, static_cast<std::uint16_t>(number)).first->second;
}

std::uint32_t Tables::type(const Identity& identity) {
  if (identity == last_ && !types.empty()) return last_type_;
  const auto [at, is_new] =
      type_numbers_.try_emplace(identity, static_cast<std::uint32_t>(types.size()));
  if (is_new) types.push_back(identity);
  last_ = identity;
  last_type_ = at->second;
  return last_type_;
}

void RubyPiece::add(const snapshot::Object& object) {
  const auto index = static_cast<std::uint32_t>(objects.size());
  const bool follows = !object_lines.empty() &&
                       object_lines.back().second + index == lines + object_lines.back().first;
  if (!follows) object_lines.emplace_back(index, lines);
  objects.push_back(object);
  edge_ends.push_back(static_cast<std::uint32_t>(edges.size()));
}

void RubyPiece::add_text(std::string_view bytes, std::size_t most) {
  most = std::min<std::size_t>(most, std::numeric_limits<std::uint32_t>::max());
  const std::string_view kept = bytes.substr(0, most);
  texts.push_back({static_cast<std::uint32_t>(objects.size()),
                   static_cast<std::uint32_t>(kept.size()), text.size(),
                   kept.size() != bytes.size()});
  text += kept;
}

Result<RubyPieces> read_pieces(read::TextFile file, const DumpOptions& options) {
  RubyPieces found;
  found.is_heap_dump = file.beginning().starts_with('[');
  const unsigned workers = workers_for(~std::size_t{0});
  for (unsigned i = 0; i < workers; ++i) found.tables.emplace_back();
  std::mutex mutex;
  const auto work = [&](unsigned worker, const LineBlock& block) {
    RubyPiece piece = BlockReader(found.tables[worker], block, options).read(found.is_heap_dump);
    const bool is_good = !piece.wrong;
    const std::lock_guard lock(mutex);
    if (found.all.size() <= block.number) found.all.resize(block.number + 1);
    found.all[block.number] = std::move(piece);
    return is_good;
  };
  found.is_cut = HA_TRY(read::read_blocks(std::move(file), options, workers, work));
  return found;
}

}  // namespace heapattach::ruby
