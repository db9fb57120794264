#include "report/format/read/object_lines.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "symbols/text/json_grammar.h"

namespace heapattach::read {

namespace {

using snapshot::ObjectKind;
using snapshot::Value;

constexpr std::uint64_t kMostAddress = (std::uint64_t{1} << 48) - 1;  // the width of Object's field

constexpr std::array<std::pair<std::string_view, ObjectKind>, 4> kKinds{{
    {"normal", ObjectKind::Normal},
    {"atomic", ObjectKind::Atomic},
    {"uncollectable", ObjectKind::Uncollectable},
    {"custom", ObjectKind::Custom},
}};

std::optional<ObjectKind> kind_of(std::string_view text) {
  for (const auto& [name, kind] : kKinds) {
    if (name == text) return kind;
  }
  return std::nullopt;
}

// As in Piece::objects; none if the key is not a heap's.
std::optional<std::uint64_t> number_of_heap(std::string_view key) {
  const auto kinds = heap_kinds();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i]->key == key) return i + 1;
  }
  return std::nullopt;
}

// Steps over `literal`; false if something else is there.
template <std::size_t N>
bool take(const char*& at, const char* end, const char (&literal)[N]) {
  if (static_cast<std::size_t>(end - at) < N - 1 || std::memcmp(at, literal, N - 1) != 0) {
    return false;
  }
  at += N - 1;
  return true;
}

constexpr auto kHexValues = [] {
  std::array<std::uint8_t, 256> values{};
  for (std::uint8_t& value : values) value = 16;
  for (std::uint8_t i = 0; i < 10; ++i) values[static_cast<std::size_t>('0' + i)] = i;
  for (std::uint8_t i = 0; i < 6; ++i) {
    values[static_cast<std::size_t>('a' + i)] = static_cast<std::uint8_t>(10 + i);
  }
  return values;
}();

// One to twelve hex digits; returns the position after them.
const char* take_hex(const char* at, const char* end, std::uint64_t& out) {
  const char* const last = end - at > 12 ? at + 12 : end;
  const char* const first = at;
  out = 0;
  for (; at != last; ++at) {
    const std::uint8_t value = kHexValues[static_cast<unsigned char>(*at)];
    if (value > 15) break;
    out = out << 4 | value;
  }
  return at == first ? nullptr : at;
}

const char* take_decimal(const char* at, const char* end, std::uint64_t& out) {
  if (at == end || *at == '0') return nullptr;  // an object has bytes
  const auto [rest, failure] = std::from_chars(at, end, out);
  return failure == std::errc{} ? rest : nullptr;
}

}  // namespace

std::size_t Piece::line_of(std::uint32_t object) const {
  const auto after =
      std::upper_bound(object_lines.begin(), object_lines.end(), object,
                       [](std::uint32_t wanted, const auto& row) { return wanted < row.first; });
  if (after == object_lines.begin()) return 0;
  const auto& [first, line] = *std::prev(after);
  return line + (object - first);
}

bool ObjectLines::read_plain(std::string_view line) {
  const char* at = line.data();
  const char* const end = at + line.size();
  Record record;
  if (!take(at, end, "{\"record\":\"object\",\"address\":\"0x")) return false;
  at = take_hex(at, end, record.address);
  if (at == nullptr || !take(at, end, "\",\"type\":\"")) return false;
  const char* const name = at;
  at = end_of_plain_text(at, end);
  const std::string_view type(name, static_cast<std::size_t>(at - name));
  if (!take(at, end, "\",\"bytes\":")) return false;
  at = take_decimal(at, end, record.bytes);
  if (at == nullptr) return false;
  at = plain_marks(at, end, record);
  if (at == nullptr) return false;
  record.type = names_.type(type, block_, piece_.objects.size());
  const std::size_t edges = piece_.edges.size();
  if (take(at, end, ",\"refs\":{")) at = plain_edges(at, end, record.type);
  if (at == nullptr || end - at != 1 || *at != '}' || !add(record).empty()) {
    piece_.edges.resize(edges);
    return false;
  }
  return true;
}

const char* ObjectLines::plain_marks(const char* at, const char* end, Record& record) const {
  if (take(at, end, ",\"kind\":\"atomic\"")) record.kind = ObjectKind::Atomic;
  if (take(at, end, ",\"kind\":\"custom\"")) record.kind = ObjectKind::Custom;
  if (take(at, end, ",\"kind\":\"uncollectable\"")) record.kind = ObjectKind::Uncollectable;
  if (take(at, end, ",\"reachable\":false")) record.is_reachable = false;
  if (take(at, end, ",\"heap\":\"")) {
    const char* const key = at;
    at = end_of_plain_text(at, end);
    const auto heap = number_of_heap({key, static_cast<std::size_t>(at - key)});
    if (!heap || !take(at, end, "\"")) return nullptr;
    record.heap = *heap;
  }
  if (take(at, end, ",\"lossy\":true")) record.is_lossy = true;
  return at;
}

const char* ObjectLines::plain_edges(const char* at, const char* end, std::uint32_t type) {
  last_key_ = KeyTable::kFirst;
  for (;;) {
    KeyTable::Found found;
    RawEdge edge;
    if (!take(at, end, "\"")) return nullptr;
    at = plain_key(at, end, type, found);
    if (at == nullptr || !take(at, end, "\":\"0x")) return nullptr;
    at = take_hex(at, end, edge.to);
    if (at == nullptr || end - at < 2 || *at++ != '"') return nullptr;
    if (with_edges_) piece_.edges.push_back({edge.to, found.key, found.number});
    const char next = *at++;
    if (next == '}') return at;
    if (next != ',') return nullptr;
  }
}

// The end of the key that `at` begins with.
const char* ObjectLines::plain_key(const char* at,
                                   const char* end,
                                   std::uint32_t type,
                                   KeyTable::Found& found) {
  KeyTable& keys = names_.types[type].keys;
  const char* key_end = keys.guess(at, end, last_key_, found);
  if (key_end == nullptr) {
    key_end = end_of_plain_text(at, end);
    if (key_end == end || *key_end != '"') return nullptr;
    found = keys.intern({at, static_cast<std::size_t>(key_end - at)});
    keys.learn(last_key_, found.key);
  }
  last_key_ = found.key;
  return key_end;
}

std::string ObjectLines::read_any(std::string_view line) {
  const std::size_t edges = piece_.edges.size();
  const std::size_t values = piece_.values.values.size();
  JsonCursor json(line);
  std::string wrong = any_parts(json);
  if (!wrong.empty()) {
    piece_.edges.resize(edges);
    piece_.values.values.resize(values);
  }
  return wrong;
}

// NOLINTNEXTLINE(readability-function-cognitive-complexity): a list of keys
std::string ObjectLines::any_parts(JsonCursor& json) {
  Record record;
  std::string text;
  std::string_view edges;
  std::string_view values;
  std::string_view value;
  bool has_type = false;
  json.object([&](std::string_view key) {
    if (key == "address") return json.address(record.address);
    if (key == "type") return has_type = json.string(name_);
    if (key == "bytes") return json.number(record.bytes);
    if (key == "refs") return json.skipped(edges);
    if (key == "values") return json.skipped(values);
    if (key == "value") return json.skipped(value);
    if (key == "lossy") return json.boolean(record.is_lossy);
    if (key == "cut") return json.boolean(record.is_cut);
    if (key == "reachable") return json.boolean(record.is_reachable);
    if (key == "heap") {
      if (!json.string(text)) return false;
      const auto heap = number_of_heap(text);
      if (heap) record.heap = *heap;
      return heap || json.fail("an object of an unknown heap");
    }
    if (key != "kind") return json.skip();
    if (!json.string(text)) return false;
    const auto kind = kind_of(text);
    if (kind) record.kind = *kind;
    return kind || json.fail("an unknown kind of object");
  });
  if (!json.at_end()) return json.is_good() ? "unexpected text after the record" : json.error();
  if (!has_type || record.bytes == 0) return "an object without type or bytes";
  record.type = names_.type(name_, block_, piece_.objects.size());
  const auto values_before = piece_.values.values.size();
  std::string wrong;
  if (!value.empty()) {
    JsonCursor one(value);
    any_value(one, Value::kOwn);
    wrong = one.is_good() ? "" : one.error();
  }
  if (wrong.empty() && !values.empty()) any_values(JsonCursor(values), record.type, wrong);
  if (wrong.empty() && !edges.empty()) any_edges(JsonCursor(edges), record.type, wrong);
  if (record.is_cut && piece_.values.values.size() != values_before) {
    piece_.values.values.back().is_cut = true;
  }
  return wrong.empty() ? add(record) : wrong;
}

bool ObjectLines::any_edges(JsonCursor json, std::uint32_t type, std::string& wrong) {
  KeyTable& keys = names_.types[type].keys;
  json.object([&](std::string_view key) {
    const KeyTable::Found found = keys.intern(key);
    RawEdge edge{0, found.key, found.number};
    if (!json.address(edge.to)) return false;
    if (with_edges_) piece_.edges.push_back(edge);
    return true;
  });
  if (!json.is_good()) wrong = "refs: " + json.error();
  return json.is_good();
}

bool ObjectLines::any_values(JsonCursor json, std::uint32_t type, std::string& wrong) {
  SeenType& seen = names_.types[type];
  json.object([&](std::string_view path) { return any_value(json, seen.value_path(path)); });
  if (!json.is_good()) wrong = "values: " + json.error();
  return json.is_good();
}

bool ObjectLines::any_value(JsonCursor& json, std::uint32_t path) {
  Value value;
  value.path = path;
  value.at = piece_.values.text.size();
  std::string text;
  std::string_view word;
  value.is_text = json.is_string();
  if (!(value.is_text ? json.string(text) : json.word(word))) return false;
  if (!value.is_text) text = word;
  if (text.size() > std::numeric_limits<std::uint32_t>::max()) {
    return json.fail("a value is too long");
  }
  value.bytes = static_cast<std::uint32_t>(text.size());
  piece_.values.text += text;
  // Adds entries for the earlier objects, which had no values.
  piece_.values.first_value.resize(piece_.objects.size() + 1,
                                   static_cast<std::uint32_t>(piece_.values.values.size()));
  piece_.values.values.push_back(value);
  return true;
}

// Returns what is wrong with it, empty if nothing.
std::string ObjectLines::add(const Record& record) {
  if (record.address == 0 || record.address > kMostAddress) return "an object without an address";
  if (!piece_.objects.empty() && piece_.objects.back().address >= record.address) {
    return fmt::format("object {:#x} comes after {:#x}; objects must be in order, each once",
                       record.address, std::uint64_t{piece_.objects.back().address});
  }
  if (piece_.edges.size() > std::numeric_limits<std::uint32_t>::max()) return "too many edges";
  snapshot::Object object{};
  object.address = record.address & kMostAddress;
  object.kind = static_cast<std::uint64_t>(record.kind) & 3;
  object.is_reachable = record.is_reachable ? 1 : 0;
  object.is_lossy = record.is_lossy ? 1 : 0;
  object.heap = record.heap & (snapshot::kMostHeaps - 1);
  object.type = record.type;
  object.size_class = names_.size_class(record.bytes);
  piece_.bytes += record.bytes;
  const auto index = static_cast<std::uint32_t>(piece_.objects.size());
  const bool follows =
      !piece_.object_lines.empty() &&
      piece_.object_lines.back().second + index == piece_.lines + piece_.object_lines.back().first;
  if (!follows) {
    piece_.object_lines.emplace_back(index, piece_.lines);
  }
  piece_.objects.push_back(object);
  piece_.edge_ends.push_back(static_cast<std::uint32_t>(piece_.edges.size()));
  return {};
}

}  // namespace heapattach::read
