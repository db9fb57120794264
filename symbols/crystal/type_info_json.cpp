// CRYSTAL_DUMP_TYPE_INFO=FILE writes:
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

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "symbols/crystal/type_info.h"
#include "symbols/text/json_cursor.h"
#include "symbols/text/utf8.h"

namespace heapattach::crystal {
namespace {

constexpr std::uint64_t kLargestId = 0x7fffffff;
constexpr std::uint64_t kLargestInstance = 1U << 30U;
constexpr std::size_t kLongestName = 64U << 10U;
constexpr std::size_t kMostFieldBytes = 128U << 20U;  // of all types, structures unfolded
constexpr int kDeepestStructure = 16;

// One element of "types", unchanged.
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

bool is_text(std::string_view text) {
  constexpr char32_t kReplacement = 0xfffd;  // the replacement of a lone surrogate
  while (!text.empty()) {
    const Utf8Step step = next_utf8(text);
    if (!step.is_valid || step.code == kReplacement) return false;
    text.remove_prefix(step.bytes);
  }
  return true;
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

// Replaces structures by their fields.
class Unfolder {
 public:
  explicit Unfolder(const std::vector<Entry>& entries) {
    for (const Entry& entry : entries) {
      // The single variable of an array in place represents all of its elements.
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
      if (bytes_ > kMostFieldBytes) return malformed("nested structures are too large");
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

// Reads the whole text. Each function consumes one value and returns whether it could; the reason
// is in error_, otherwise with the cursor.
class Reader {
 public:
  explicit Reader(std::string_view text) : at_(text) {}

  Result<std::vector<Entry>> run() {
    bool has_types = false;
    const bool is_read = at_.object([&](std::string_view key) {
      if (key != "types") return at_.skip();
      has_types = true;
      return each(key, [&] { return read_entry(); });
    });
    if (!is_read) return error_ ? *std::move(error_) : malformed(at_.error());
    if (!has_types) return malformed("no key \"types\"");
    if (!at_.at_end()) return malformed("there is text after the JSON object");
    return std::move(entries_);
  }

 private:
  bool refuse(Error error) {
    if (!error_) error_ = std::move(error);
    return at_.fail();
  }

  bool number(std::string_view key, std::uint64_t most, std::uint64_t& out) {
    if (at_.number(out) && out <= most) return true;
    return refuse(malformed(fmt::format("{} is not a number from 0 to {}", key, most)));
  }
  bool number(std::string_view key, std::uint64_t most, std::optional<std::uint64_t>& out) {
    return number(key, most, out.emplace());
  }

  bool name(std::string_view key, std::string& out) {
    if (!at_.string(out) || !is_text(out)) {
      return refuse(malformed(fmt::format("{} is not a string", key)));
    }
    if (!out.empty() && out.size() <= kLongestName) return true;
    return refuse(malformed(fmt::format("{} is {} bytes long", key, out.size())));
  }

  // Calls `take` for each element of a list, and names the one that fails.
  template <class Take>
  bool each(std::string_view key, const Take& take) {
    std::size_t index = 0;
    return at_.array([&] {
      if (take()) return ++index > 0;
      Error error = error_ ? *std::move(error_) : malformed(at_.error());
      error_ = std::move(error).context(fmt::format("{}[{}]", key, index));
      return false;
    });
  }

  bool read_field(Entry& entry) {
    Field field;
    const bool is_read = at_.object([&](std::string_view key) {
      if (key == "name") return name(key, field.name);
      if (key == "type_name") return name(key, field.type);
      if (key == "offset") return number(key, kLargestInstance, field.offset);
      if (key == "size") return number(key, kLargestInstance, field.bytes);
      return at_.skip();
    });
    if (!is_read) return false;
    if (field.name.empty() || field.type.empty()) {
      return refuse(malformed("no name or no type_name"));
    }
    entry.fields.push_back(std::move(field));
    return true;
  }

  bool read_entry() {
    Entry entry;
    const bool is_read = at_.object([&](std::string_view key) {
      if (key == "name") return name(key, entry.name);
      if (key == "id") return number(key, kLargestId, entry.id);
      if (key == "size") return number(key, kLargestInstance, entry.bytes);
      if (key == "instance_size") return number(key, kLargestInstance, entry.instance_bytes);
      if (key == "has_inner_pointers") return at_.boolean(entry.has_pointers.emplace());
      if (key == "instance_vars") return each(key, [&] { return read_field(entry); });
      return at_.skip();
    });
    if (!is_read) return false;
    if (entry.name.empty() || !entry.id) return refuse(malformed("no name or no id"));
    if (!ids_.insert(*entry.id).second) {
      return refuse(malformed(fmt::format("{}: id {} is a duplicate", entry.name, *entry.id)));
    }
    if (auto checked = check_fields(entry); !checked) return refuse(std::move(checked).error());
    entries_.push_back(std::move(entry));
    return true;
  }

  JsonCursor at_;
  std::vector<Entry> entries_;
  std::unordered_set<std::uint64_t> ids_;
  std::optional<Error> error_;
};

}  // namespace

Result<std::vector<Type>> parse_type_info_json(std::string_view text) {
  const std::vector<Entry> entries = HA_TRY(Reader(text).run());
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
