#include "symbols/types/member_path.h"

#include <optional>

#include <fmt/format.h>

namespace heapattach::types {

namespace {

constexpr int kDeepest = 48;

struct Place {
  TypeRef type = kNoType;
  std::uint64_t offset = 0;  // within the type
  std::string path;
};

bool is_of_library(const Type& type) {
  return type.name.starts_with("std::") || type.name.starts_with("__gnu_cxx::");
}

std::optional<Place> into_array(const TypeModel& model, const Type& array, const Place& at) {
  if (array.target >= model.types().size()) return {};
  const std::uint64_t bytes = model[array.target].bytes.value_or(0);
  if (bytes == 0) return {};
  const std::uint64_t number = at.offset / bytes;
  if (array.count && number >= *array.count) return {};
  return Place{array.target, at.offset % bytes, fmt::format("{}[{}]", at.path, number)};
}

std::optional<Place> into_struct(const TypeModel& model, const Type& type, const Place& at) {
  for (const Member& member : type.members) {
    if (member.type >= model.types().size() || member.offset > at.offset) continue;
    const std::uint64_t inside = at.offset - member.offset;
    if (inside >= model[member.type].bytes.value_or(0)) continue;
    const bool has_name = !member.is_base && !member.name.empty();
    return Place{member.type, inside, has_name ? at.path + "." + member.name : at.path};
  }
  return {};
}

std::optional<Place> step_into(const TypeModel& model, const Place& at) {
  const Type& type = model[at.type];
  if (type.shape == Shape::Array) return into_array(model, type, at);
  if (type.shape == Shape::Struct && !is_of_library(type)) return into_struct(model, type, at);
  return {};
}

}  // namespace

std::string member_path(const TypeModel& model, TypeRef type, std::uint64_t offset) {
  if (type >= model.types().size() || offset >= model[type].bytes.value_or(0)) return {};
  Place at{type, offset, ""};
  for (int depth = 0; depth < kDeepest; ++depth) {
    auto inner = step_into(model, at);
    if (!inner) break;
    at = std::move(*inner);
  }
  return at.path;
}

}  // namespace heapattach::types
