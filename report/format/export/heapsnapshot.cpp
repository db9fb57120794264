// V8's .heapsnapshot, for Chrome DevTools and memlab, which find dominators, retainers, paths and
// differences by themselves. One JSON object. Its loaders scan forward, so the order of keys is
// part of the format; numbers must be plain digits.
//
//   nodes   7 numbers each: type, name (a string), id, size, count of edges, 0, 0
//   edges   3 numbers each, by node: type, name (a string or an element's number), target, which is
//           the target's index in `nodes`, that is 7 times its number
//   strings last, since their number is known only then
//
// Facts about the readers that shaped this:
// - Every number has 32 bits, and larger ones are cut silently. An object of 4 GiB is written as
//   several nodes that it references, "(rest of TYPE)", so that sums stay right; ids are not
//   addresses (heapsnapshot_objects.h).
// - If a child of the root is not synthetic, DevTools assumes that it knows the program's own
//   roots, changes sizes and hides what only other roots hold. So the root has one child, "(GC
//   roots)", with one child per location, "(thread 4711 stack)". The name of the variable is on the
//   edge from there.
// - The class shown is the node's name if its type is object. `Object` would be renamed by its
//   properties. A text whose value was requested is a string, shown under "(string)".
// - JSON.parse parses all strings at once: beyond kMostText letters, values are left out.

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/format/export/heapsnapshot_names.h"
#include "report/format/export/heapsnapshot_objects.h"
#include "report/format/export/root_groups.h"
#include "report/format/export/stream.h"
#include "report/format/export/text_values.h"
#include "report/short_names.h"
#include "report/text/json_text.h"

namespace heapattach {

namespace {

using snapshot::ObjectIndex;
using snapshot::Snapshot;

enum NodeType : std::uint8_t { kString = 2, kObject = 3, kNative = 8, kSynthetic = 9 };
enum EdgeType : std::uint8_t { kElement = 1, kProperty = 2 };

constexpr std::uint64_t kNodeFields = 7;
constexpr std::uint64_t kMostNodes = std::numeric_limits<std::uint32_t>::max() / kNodeFields;
constexpr std::uint64_t kMostText = std::uint64_t{256} << 20;

constexpr std::string_view kMeta =
    R"({"snapshot":{"meta":{"node_fields":["type","name","id","self_size","edge_count",)"
    R"("trace_node_id","detachedness"],"node_types":[["hidden","array","string","object","code",)"
    R"("closure","regexp","number","native","synthetic","concatenated string","sliced string",)"
    R"("symbol","bigint","object shape"],"string","number","number","number","number","number"],)"
    R"("edge_fields":["type","name_or_index","to_node"],"edge_types":[["context","element",)"
    R"("property","internal","hidden","shortcut","weak"],"string_or_number","node"]},)";

class Writer {
 public:
  Writer(const Snapshot& snapshot, Sink& sink, const ExportOptions& options)
      : snapshot_(snapshot),
        out_(sink, options),
        groups_(group_roots(snapshot)),
        objects_(snapshot),
        ids_(snapshot) {
    for (const snapshot::Type& type : snapshot.types) {
      names_.push_back(
          strings_.number_of(type.name == "Object" ? "(Object)" : shown_type_name(type.name)));
      edge_names_.emplace_back(type, strings_);
    }
    for (const auto& large : objects_.large()) {
      const std::string type =
          shown_type_name(snapshot.types[snapshot.objects[large.object].type].name);
      rest_names_.push_back(strings_.number_of(fmt::format("(rest of {})", type)));
    }
  }

  Result<void> write() && {
    const std::uint64_t nodes = first_object() + objects_.count() + objects_.pieces();
    if (nodes >= kMostNodes) {
      return Error{
          ErrorKind::Impossible,
          fmt::format("{} objects are more than a .heapsnapshot can number", objects_.count())}
          .advise("-f jsonl");
    }
    const std::uint64_t edges = 1 + groups_.size() + root_edges() + objects_.edges();
    out_.put(kMeta);
    out_.put(fmt::format("\"node_count\":{},\"edge_count\":{},\"trace_function_count\":0}},\n",
                         nodes, edges));
    put_nodes();
    put_edges();
    put_strings();
    return out_.finish();
  }

 private:
  [[nodiscard]] std::uint64_t root_edges() const {
    std::uint64_t count = 0;
    for (const RootGroup& group : groups_) count += group.roots.size();
    return count;
  }
  // The index of the first object. Further pieces of large objects follow the objects.
  [[nodiscard]] std::uint32_t first_object() const {
    return static_cast<std::uint32_t>(2 + groups_.size());
  }

  struct Node {
    std::uint32_t type = kObject;
    std::uint32_t name = 0;
    std::uint32_t id = 0;
    std::uint64_t bytes = 0;
    std::uint64_t edges = 0;
  };
  void put_node(const Node& node) {
    if (node.id != kRootId) out_.put(',');
    out_.put_decimal(node.type);
    out_.put(',');
    out_.put_decimal(node.name);
    out_.put(',');
    out_.put_decimal(node.id);
    out_.put(',');
    out_.put_decimal(node.bytes);
    out_.put(',');
    out_.put_decimal(node.edges);
    out_.put(",0,0\n");
  }

  // Ids of nodes that are not objects are even.
  void put_nodes() {
    out_.put("\"nodes\":[");
    std::uint32_t id = kRootId;
    put_node({kSynthetic, strings_.number_of(""), id, 0, 1});
    put_node({kSynthetic, strings_.number_of("(GC roots)"), id += 2, 0, groups_.size()});
    for (const RootGroup& group : groups_) {
      put_node({kSynthetic, strings_.number_of(fmt::format("({})", group.label)), id += 2, 0,
                group.roots.size()});
    }
    name_roots();
    TextValues values(snapshot_);
    HeapsnapshotPieces pieces(objects_);
    const auto first_text = static_cast<std::uint32_t>(strings_.all().size());
    for (ObjectIndex i = 0; i < snapshot_.objects.size() && !out_.has_failed(); ++i) {
      if (!objects_.is_written(i)) continue;
      Node node = object_node(i);
      node.edges += pieces.of(i);
      if (const auto text = values.own_text(i)) take_text(*text, first_text, node);
      put_node(node);
      if (i % 65536 == 0) out_.progress(i);
    }
    for (std::size_t i = 0; i < objects_.large().size(); ++i) {
      const auto& large = objects_.large()[i];
      for (std::uint64_t piece = 0; piece < large.pieces(); ++piece) {
        put_node({kObject, rest_names_[i], id += 2, large.piece_bytes(piece), 0});
      }
    }
    out_.put("],\n");
  }

  [[nodiscard]] Node object_node(ObjectIndex index) const {
    const snapshot::Object& object = snapshot_.objects[index];
    // Memory beside the process's own heap is what a browser calls native.
    const NodeType type = object.heap == 0 ? kObject : kNative;
    return {type, names_[object.type], ids_.of(object.address, objects_.ordinal_of(index)),
            std::min(snapshot_.bytes_of(object), HeapsnapshotObjects::kMostBytes),
            objects_.count_edges(index)};
  }

  void take_text(std::string_view text, std::uint32_t first_text, Node& node) {
    if (text_bytes_ + text.size() > kMostText) return;
    text_bytes_ += text.size();
    node.type = kString;
    node.name = first_text + static_cast<std::uint32_t>(texts_.size());
    texts_.push_back(text);
  }

  void put_edge(std::uint32_t type, std::uint32_t name, std::uint64_t to) {
    if (std::exchange(has_edges_, true)) out_.put(",");
    out_.put_decimal(type);
    out_.put(',');
    out_.put_decimal(name);
    out_.put(',');
    out_.put_decimal(to * kNodeFields);
    out_.put('\n');
  }

  // Adds the variables' names while strings can still be added.
  void name_roots() {
    for (const snapshot::Root& root : snapshot_.roots) {
      root_names_.push_back(root.symbol.empty() ? 0 : strings_.number_of(root.symbol));
    }
  }

  void put_root_edges() {
    const std::uint32_t first_group = 2;
    put_edge(kElement, 1, 1);
    for (std::uint32_t i = 0; i < groups_.size(); ++i) put_edge(kElement, i, first_group + i);
    for (const RootGroup& group : groups_) {
      std::uint32_t element = 0;
      for (const std::uint32_t root : group.roots) {
        const std::uint64_t to = first_object() + objects_.ordinal_of(snapshot_.roots[root].to);
        if (root_names_[root] != 0) {
          put_edge(kProperty, root_names_[root], to);
        } else {
          put_edge(kElement, element++, to);
        }
      }
    }
  }

  void put_edges() {
    out_.put("\"edges\":[");
    put_root_edges();
    HeapsnapshotPieces pieces(objects_);
    std::uint64_t next_piece = first_object() + objects_.count();
    for (ObjectIndex i = 0; i < snapshot_.objects.size() && !out_.has_failed(); ++i) {
      if (!objects_.is_written(i)) continue;
      const HeapsnapshotEdgeNames& names = edge_names_[snapshot_.objects[i].type];
      for (const snapshot::Edge& edge : snapshot_.edges_of(i)) {
        if (!objects_.is_written(edge.to)) continue;
        const auto name = names.of(std::uint64_t{edge.offset_words} * 8);
        put_edge(name.is_element ? kElement : kProperty, name.number,
                 first_object() + objects_.ordinal_of(edge.to));
      }
      const std::uint64_t count = pieces.of(i);
      for (std::uint32_t piece = 0; piece < count; ++piece) put_edge(kElement, piece, next_piece++);
    }
    out_.put("],\n");
  }

  void put_string(std::string_view text) {
    std::string quoted;
    append_json_string(quoted, text);
    out_.put(quoted);
  }
  void put_strings() {
    out_.put("\"strings\":[");
    char before = 0;
    for (const std::string& text : strings_.all()) {
      if (before != 0) out_.put(",\n");
      before = ',';
      put_string(text);
    }
    for (const std::string_view text : texts_) {
      if (out_.has_failed()) break;
      out_.put(",\n");
      put_string(text);
    }
    out_.put("]}\n");
  }

  static constexpr std::uint32_t kRootId = 2;

  const Snapshot& snapshot_;
  ExportStream out_;
  std::vector<RootGroup> groups_;
  HeapsnapshotObjects objects_;
  HeapsnapshotIds ids_;
  HeapsnapshotStrings strings_;
  std::vector<std::uint32_t> names_;  // of types
  std::vector<HeapsnapshotEdgeNames> edge_names_;
  std::vector<std::uint32_t> root_names_;  // by root; 0: no name
  std::vector<std::uint32_t> rest_names_;  // by large object
  std::vector<std::string_view> texts_;    // values, after the other strings
  std::uint64_t text_bytes_ = 0;
  bool has_edges_ = false;
};

}  // namespace

Result<void> write_heapsnapshot(const Snapshot& snapshot,
                                Sink& sink,
                                const ExportOptions& options) {
  return Writer(snapshot, sink, options).write();
}

}  // namespace heapattach
