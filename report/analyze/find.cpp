#include "report/analyze/find.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "report/glob.h"
#include "report/model/find_values.h"
#include "report/short_names.h"
#include "report/type_names.h"

namespace heapattach::analyze {

namespace {

using snapshot::Object;
using snapshot::ObjectIndex;
using snapshot::Snapshot;

// The types with this name or, if there is none, those that match it as a glob.
std::vector<bool> types_meant(const Snapshot& snapshot, const std::string& name) {
  std::vector<bool> by_name;
  std::vector<bool> by_glob;
  bool has_name = false;
  for (const snapshot::Type& type : snapshot.types) {
    by_name.push_back(type.name == name || short_type_name(type.name) == name ||
                      is_labelled(name, type.name));
    by_glob.push_back(matches_type(name, type.name));
    has_name = has_name || by_name.back();
  }
  return has_name ? by_name : by_glob;
}

std::vector<ObjectIndex> objects_of(const Snapshot& snapshot, const std::vector<bool>& is_meant) {
  std::vector<ObjectIndex> objects;
  for (std::size_t i = 0; i < snapshot.objects.size(); ++i) {
    if (is_meant[snapshot.objects[i].type]) objects.push_back(static_cast<ObjectIndex>(i));
  }
  return objects;
}

Error no_object_error(const Snapshot& snapshot,
                      const std::string& type,
                      const std::vector<bool>& has_objects) {
  Error error{ErrorKind::Malformed,
              fmt::format("no object of type '{}' exists at the moment", type)};
  for (std::size_t i = 0; i < snapshot.types.size(); ++i) {
    const snapshot::Type& part = snapshot.types[i];
    if (has_objects[i] && part.holder == type && part.name.starts_with("(static ")) {
      return std::move(error).advise(fmt::format("'{}'", part.name));
    }
  }
  return error;
}

// Adds the name of an object that is a class or module of Ruby: its text is its name.
void add_ruby_class(const Snapshot& snapshot,
                    const snapshot::ValuePiece& piece,
                    ObjectIndex object,
                    TypeNames& names) {
  const std::string& type = snapshot.types[snapshot.objects[object].type].name;
  if (type != "Class" && type != "Module") return;
  for (const snapshot::Value& value : piece.of(object)) {
    if (value.path == snapshot::Value::kOwn) names.add(std::string(piece.text_of(value)));
  }
}

void add_ruby_classes(const Snapshot& snapshot, TypeNames& names) {
  if (snapshot.header.runtime != "ruby" || !snapshot.header.redacted.empty()) return;
  snapshot::any_with_values(snapshot, [&](const snapshot::ValuePiece& piece, ObjectIndex object) {
    add_ruby_class(snapshot, piece, object, names);
    return false;
  });
}

}  // namespace

std::optional<std::uint64_t> parse_address(const std::string& text) {
  if (!text.starts_with("0x") && !text.starts_with("0X")) return std::nullopt;
  std::uint64_t address = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data() + 2, end, address, 16);
  if (failure != std::errc{} || rest != end) return std::nullopt;
  return address;
}

Result<ObjectIndex> find_object(const Snapshot& snapshot, std::uint64_t address) {
  const auto& objects = snapshot.objects;
  const auto after = std::upper_bound(
      objects.begin(), objects.end(), address,
      [](std::uint64_t wanted, const Object& object) { return wanted < object.address; });
  if (after != objects.begin()) {
    const Object& object = *(after - 1);
    if (address - object.address < snapshot.bytes_of(object)) {
      return static_cast<ObjectIndex>(after - 1 - objects.begin());
    }
  }
  return Error{ErrorKind::Malformed, fmt::format("the snapshot has no object at {:#x}", address)}
      .advise("an address from this snapshot, or --all if nothing references the object");
}

Result<std::vector<ObjectIndex>> find_objects(const Snapshot& snapshot, const std::string& type) {
  std::vector<bool> has_objects(snapshot.types.size());
  for (const Object& object : snapshot.objects) has_objects[object.type] = true;
  TypeNames present;
  TypeNames known;
  for (std::size_t i = 0; i < snapshot.types.size(); ++i) {
    known.add(snapshot.types[i].name);
    if (has_objects[i]) present.add(snapshot.types[i].name);
  }
  add_ruby_classes(snapshot, known);
  const NamedType named = present.find(type);
  if (!named.name.empty()) return objects_of(snapshot, types_meant(snapshot, named.name));
  if (const NamedType absent = known.find(type); !absent.name.empty()) {
    return no_object_error(snapshot, absent.name, has_objects);
  }
  if (!snapshot.header.redacted.empty()) {
    return Error{ErrorKind::Malformed, "no object has that type"}.advise(
        "the type's name in a redacted report");
  }
  return Error{ErrorKind::Malformed, named.problem};
}

}  // namespace heapattach::analyze
