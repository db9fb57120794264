// What CRYSTAL_DUMP_TYPE_INFO=FILE writes:
//
//     {"types":[{"name":"Fiber","id":125,"min_subtype_id":125,"supertype_id":204,
//                "has_inner_pointers":true,"size":8,"align":8,"instance_size":176,
//                "instance_align":8,
//                "instance_vars":[{"name":"@context","type_name":"Fiber::Context",
//                                  "offset":8,"size":16},…]},…]}
//
// A class has an instance_size, and its offsets count the id at its start. A structure has none,
// its offsets do not, and its own instance_vars stand in for a field that holds one. Keys that are
// not known are skipped: later compilers write more.

#include <string>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <simdjson.h>

#include "symbols/crystal/type_info.h"

namespace heapattach::crystal {
namespace {

namespace json = simdjson::ondemand;

constexpr std::uint64_t kLargestId = 0x7fffffff;
constexpr std::uint64_t kLargestInstance = 1U << 30U;
constexpr std::size_t kLongestName = 64U << 10U;
constexpr std::size_t kMostFieldBytes = 512U << 20U;  // of all types, structures unfolded
constexpr int kDeepestStructure = 16;

// One element of "types", as it stands there.
struct Entry {
  std::string name;
  std::optional<std::uint64_t> id;
  std::optional<std::uint64_t> bytes;  // of a value or a reference
  std::optional<std::uint64_t> instance_bytes;
  std::optional<bool> has_pointers;
  std::vector<Field> fields;

  [[nodiscard]] bool is_class() const { return instance_bytes.has_value(); }
};

Error malformed(std::string_view what) {
  return {ErrorKind::Malformed, std::string(what)};
}

Error malformed(simdjson::error_code code) {
  return malformed(simdjson::error_message(code));
}

Result<std::uint64_t> number_of(json::value& value, std::string_view key, std::uint64_t most) {
  std::uint64_t number = 0;
  if (value.get_uint64().get(number) != simdjson::SUCCESS || number > most) {
    return malformed(fmt::format("{} is no number from 0 to {}", key, most));
  }
  return number;
}

Result<std::string> name_of(json::value& value, std::string_view key) {
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) {
    return malformed(fmt::format("{} is no string", key));
  }
  if (text.empty() || text.size() > kLongestName) {
    return malformed(fmt::format("{} is {} bytes long", key, text.size()));
  }
  return std::string(text);
}

// Calls `take(key, value)` for each member of `object`.
template <class Take>
Result<void> each_member(json::object& object, const Take& take) {
  for (auto member : object) {
    std::string_view key;
    json::value value;
    if (const auto error = member.unescaped_key().get(key)) return malformed(error);
    if (const auto error = member.value().get(value)) return malformed(error);
    HA_TRY(take(key, value));
  }
  return {};
}

// Calls `take(object)` for each element of the array `value`, and names the one that fails.
template <class Take>
Result<void> each_object(json::value& value, std::string_view key, const Take& take) {
  json::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) {
    return malformed(fmt::format("{} is no array", key));
  }
  std::size_t index = 0;
  for (auto element : array) {
    json::object object;
    const auto error = element.get_object().get(object);
    Result<void> taken = error != simdjson::SUCCESS ? malformed(error) : take(object);
    if (!taken) return std::move(taken).error().context(fmt::format("{}[{}]", key, index));
    ++index;
  }
  return {};
}

Result<Field> read_field(json::object& object) {
  Field field;
  const auto take = [&](std::string_view key, json::value& value) -> Result<void> {
    if (key == "name") field.name = HA_TRY(name_of(value, key));
    if (key == "type_name") field.type = HA_TRY(name_of(value, key));
    if (key == "offset") field.offset = HA_TRY(number_of(value, key, kLargestInstance));
    if (key == "size") field.bytes = HA_TRY(number_of(value, key, kLargestInstance));
    return {};
  };
  HA_TRY(each_member(object, take));
  if (field.name.empty() || field.type.empty()) return malformed("no name or no type_name");
  return field;
}

Result<Entry> read_entry(json::object& object) {
  Entry entry;
  const auto take = [&](std::string_view key, json::value& value) -> Result<void> {
    if (key == "name") entry.name = HA_TRY(name_of(value, key));
    if (key == "id") entry.id = HA_TRY(number_of(value, key, kLargestId));
    if (key == "size") entry.bytes = HA_TRY(number_of(value, key, kLargestInstance));
    if (key == "instance_size") {
      entry.instance_bytes = HA_TRY(number_of(value, key, kLargestInstance));
    }
    if (key == "has_inner_pointers") {
      bool is_true = false;
      if (value.get_bool().get(is_true) != simdjson::SUCCESS) {
        return malformed("has_inner_pointers is neither true nor false");
      }
      entry.has_pointers = is_true;
    }
    if (key == "instance_vars") {
      return each_object(value, key, [&](json::object& of) -> Result<void> {
        entry.fields.push_back(HA_TRY(read_field(of)));
        return {};
      });
    }
    return {};
  };
  HA_TRY(each_member(object, take));
  if (entry.name.empty() || !entry.id) return malformed("no name or no id");
  return entry;
}

Result<void> check_fields(const Entry& entry) {
  const std::uint64_t first = entry.is_class() ? 4 : 0;
  const std::uint64_t end = entry.is_class() ? *entry.instance_bytes : entry.bytes.value_or(0);
  if (entry.is_class() && end < first) {
    return malformed(fmt::format("{}: instance_size {}", entry.name, end));
  }
  for (const Field& field : entry.fields) {
    const bool fits =
        field.offset >= first && field.offset <= end && field.bytes <= end - field.offset;
    if (fits) continue;
    return malformed(fmt::format("{}: {} at {} with {} bytes does not fit into {}", entry.name,
                                 field.name, field.offset, field.bytes, end));
  }
  return {};
}

using Structures = std::unordered_map<std::string_view, const Entry*>;

// Puts the fields of structures in the place of the structures.
class Unfolder {
 public:
  explicit Unfolder(const std::vector<Entry>& entries) {
    for (const Entry& entry : entries) {
      // The one variable that an array in place has stands for all of its elements.
      const bool is_array = entry.name.starts_with("StaticArray(");
      const bool is_structure = !entry.is_class() && !entry.fields.empty() && !is_array;
      if (is_structure) structures_.emplace(entry.name, &entry);
    }
  }

  Result<std::vector<Field>> unfold(const Entry& entry) {
    std::vector<Field> fields;
    for (const Field& field : entry.fields) HA_TRY(add(field, fields, 0));
    std::stable_sort(fields.begin(), fields.end(),
                     [](const Field& a, const Field& b) { return a.offset < b.offset; });
    return fields;
  }

 private:
  Result<void> add(const Field& field, std::vector<Field>& fields, int depth) {
    const auto found = structures_.find(field.type);
    const bool is_structure = found != structures_.end() && depth < kDeepestStructure &&
                              found->second->bytes == field.bytes;
    if (!is_structure) {
      bytes_ += sizeof(Field) + field.name.size() + field.type.size();
      if (bytes_ > kMostFieldBytes) return malformed("structures in structures take too much");
      fields.push_back(field);
      return {};
    }
    for (const Field& inner : found->second->fields) {
      Field path = inner;
      path.name = field.name + "." + inner.name;
      if (path.name.size() > kLongestName) return malformed("a field's path is too long");
      path.offset += field.offset;
      HA_TRY(add(path, fields, depth + 1));
    }
    return {};
  }

  Structures structures_;
  std::size_t bytes_ = 0;
};

Result<std::vector<Entry>> read_entries(json::document& document) {
  json::object top;
  if (document.get_object().get(top) != simdjson::SUCCESS) return malformed("no JSON object");
  std::vector<Entry> entries;
  std::unordered_set<std::uint64_t> ids;
  bool has_types = false;
  const auto take = [&](std::string_view key, json::value& value) -> Result<void> {
    if (key != "types") return {};
    has_types = true;
    return each_object(value, key, [&](json::object& object) -> Result<void> {
      Entry entry = HA_TRY(read_entry(object));
      if (!ids.insert(*entry.id).second) {
        return malformed(fmt::format("{}: id {} stood there before", entry.name, *entry.id));
      }
      HA_TRY(check_fields(entry));
      entries.push_back(std::move(entry));
      return {};
    });
  };
  HA_TRY(each_member(top, take));
  if (!has_types) return malformed("no key \"types\"");
  const char* rest = nullptr;  // there is a place only if something is left
  if (document.current_location().get(rest) == simdjson::SUCCESS)
    return malformed("something follows the JSON object");
  return entries;
}

}  // namespace

Result<std::vector<Type>> parse_type_info_json(std::string_view text) {
  const simdjson::padded_string padded(text);
  json::parser parser;
  json::document document;
  if (const auto error = parser.iterate(padded).get(document)) return malformed(error);
  const std::vector<Entry> entries = HA_TRY(read_entries(document));
  Unfolder unfolder(entries);
  std::vector<Type> types;
  for (const Entry& entry : entries) {
    Type type;
    type.id = static_cast<std::uint32_t>(*entry.id);
    type.name = entry.name;
    type.is_value = !entry.is_class();
    if (type.is_value && !entry.bytes) continue;  // no type until it has arguments
    type.instance_bytes = type.is_value ? entry.bytes : entry.instance_bytes;
    if (entry.has_pointers) type.is_atomic = !*entry.has_pointers;
    type.own_fields = entry.fields;
    if (!type.is_value) type.fields = HA_TRY(unfolder.unfold(entry));
    type.known_from = {KnownFrom::TypeInfo};
    types.push_back(std::move(type));
  }
  return types;
}

}  // namespace heapattach::crystal
