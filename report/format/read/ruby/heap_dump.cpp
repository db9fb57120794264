#include "report/format/read/ruby/heap_dump.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "attach/arch/addresses.h"
#include "report/format/read/ruby/pieces.h"

namespace heapattach::ruby {

namespace {

constexpr int kDeepest = 32;
constexpr std::uint64_t kSlotBytes = 40;
constexpr std::uint64_t kMostId = kUsualAddressEnd / 2 - 1;  // an id is half of an address

// Keys whose number is not an address.
constexpr std::array<std::string_view, 9> kNumbers{"nd_type",   "line",     "line_no",
                                                   "is_lambda", "argc",     "local_size",
                                                   "method_id", "enclosed", "defined_method_id"};

bool is_number(std::string_view key) {
  return std::find(kNumbers.begin(), kNumbers.end(), key) != kNumbers.end();
}

// "{", or "," before all but the first; "]" at the end.
std::string_view without_array(std::string_view line) {
  while (!line.empty() && std::string_view("[, \t").find(line.front()) != line.npos) {
    line.remove_prefix(1);
  }
  return line;
}

}  // namespace

struct HeapDumpLines::Record {
  std::uint64_t id = 0;
  std::uint64_t of_class = 0;
  std::uint64_t superclass = 0;
  std::uint64_t size = 0;
  std::string root;  // an id that is a text
  std::string type;  // without T_
  std::string detail;
  std::string name;
  std::string value;
  bool has_value = false;
  struct Edge {
    std::string name;  // empty: an element of a list
    std::uint64_t to = 0;
    bool is_element = false;
  };
  std::vector<Edge> edges;
};

std::string HeapDumpLines::read(std::string_view line) {
  line = without_array(line);
  if (line.empty()) return {};
  if (line.front() == ']') {
    piece_.has_end = true;
    return {};
  }
  Record record;
  JsonCursor json(line);
  json.object([&](std::string_view key) { return member(json, key, record); });
  // The last object may share its line with the end of the array.
  if (json.is_good() && !json.at_end() && line.find_last_not_of(" \t\r") != line.npos &&
      line[line.find_last_not_of(" \t\r")] == ']') {
    piece_.has_end = true;
    return read(line.substr(0, line.find_last_of(']')));
  }
  if (!json.at_end()) return json.is_good() ? "unexpected text after the object" : json.error();
  return add(record);
}

bool HeapDumpLines::member(JsonCursor& json, std::string_view key, Record& record) {
  if (key == "id") return json.is_string() ? json.string(record.root) : json.number(record.id);
  if (key == "bt" || key == "type_name" || key == "nd_type_str" || key == "name") {
    if (!json.is_string()) return json.skip();
    std::string& to = key == "bt" ? record.type : key == "name" ? record.name : record.detail;
    return json.string(to);
  }
  if (key == "val" && json.is_string()) {
    record.has_value = true;
    return json.string(record.value);
  }
  if (key == "size") return json.number(record.size);
  if (is_number(key) || key == "digits") return json.skip();
  return value(json, std::string(key), key == "val" || key == "refs", 0, record);
}

// The name of an element of a map is its key, after the name of the map unless that says nothing.
std::string HeapDumpLines::path_of(const std::string& map, std::string_view key) {
  if (map == "val" || map == "ivs" || map == "consts" || map == "generic_ivars") {
    return std::string(key);
  }
  return key == "id" ? map : fmt::format("{}.{}", map, key);
}

// A number that may be an id; a list or a map of values.
bool HeapDumpLines::value(
    JsonCursor& json, const std::string& name, bool is_list, int depth, Record& record) {
  if (depth > kDeepest) return json.fail("it is nested too deeply");
  std::string_view text;
  if (!json.skipped(text) || text.empty()) return false;
  JsonCursor inner(text);
  if (text.front() == '[') {
    return inner.array([&] { return value(inner, name, true, depth + 1, record); }) ||
           json.fail(inner.error());
  }
  if (text.front() == '{') {
    return inner.object([&](std::string_view key) {
      return is_number(key) ? inner.skip()
                            : value(inner, path_of(name, key), false, depth + 1, record);
    }) || json.fail("a nested value is not JSON");
  }
  std::uint64_t id = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), id);
  const bool is_id = failure == std::errc{} && rest == text.data() + text.size() && id <= kMostId;
  if (!is_id) id = 0;
  if (name == "class" && depth == 0) {
    record.of_class = id;
  } else if (name == "super" && depth == 0) {
    record.superclass = id;
    record.edges.push_back({"superclass", id, false});
  } else if (is_list || is_id) {
    // Elements that are not objects are added too, so that the rest keep their index.
    record.edges.push_back({is_list ? "" : name, id, is_list && name == "val"});
  }
  return true;
}

std::string HeapDumpLines::add(Record& record) {
  if (!record.root.empty()) {
    RootRecord root{record.root, {}};
    for (const Record::Edge& edge : record.edges) {
      if (edge.to != 0) root.to.push_back(2 * edge.to);
    }
    piece_.roots.push_back(std::move(root));
    return {};
  }
  if (record.id == 0 || record.id > kMostId) return "an object without an id";
  if (!record.type.starts_with("T_")) return "an object without its type, `bt`";
  const std::string type = record.type.substr(2);
  const bool is_class = type == "CLASS" || type == "MODULE" || type == "ICLASS";
  if (is_class) {
    if (!record.name.empty()) piece_.add_text(record.name);
    piece_.classes.push_back({2 * record.id, 2 * record.superclass, record.name, false,
                              type == "ICLASS", type == "MODULE"});
  } else if (options_.text_bytes != 0 && record.has_value && type == "STRING") {
    piece_.add_text(record.value, options_.text_bytes);
  }
  Identity identity;
  identity.of_class = 2 * record.of_class;
  identity.kind = tables_.kind(type, record.detail);
  snapshot::Object object{};
  object.address = (2 * record.id) & (kUsualAddressEnd - 1);
  object.is_reachable = 1;
  object.type = tables_.type(identity);
  object.size_class = tables_.sizes.size_class(kSlotBytes + record.size);
  for (const Record::Edge& edge : record.edges) {
    if (!options_.with_edges) break;
    const std::uint16_t key = !edge.name.empty() ? tables_.key(edge.name)
                              : edge.is_element  ? PackedEdge::kElement
                                                 : PackedEdge::kReference;
    piece_.edges.push_back({(2 * edge.to) & (kUsualAddressEnd - 1), key});
  }
  piece_.add(object);
  return {};
}

}  // namespace heapattach::ruby
