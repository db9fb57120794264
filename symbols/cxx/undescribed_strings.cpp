#include "symbols/cxx/undescribed_strings.h"

#include <array>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace heapattach::cxx {

namespace {

using types::Shape;
using types::TypeModel;
using types::TypeRef;

constexpr std::array<std::string_view, 2> kNames = {
    "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
    "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>"};

// The type with this name. If nothing has described it yet, `describe` does.
template <class Describe>
TypeRef found_or(TypeModel& model, std::string_view name, const Describe& describe) {
  const TypeRef ref = model.intern(name);
  if (model[ref].shape == Shape::Opaque) describe(model[ref]);
  return ref;
}

TypeRef number(TypeModel& model, std::string_view name, std::uint64_t bytes) {
  return found_or(model, name, [&](types::Type& type) {
    type.shape = Shape::Number;
    type.encoding = bytes == 1 ? types::Encoding::Character : types::Encoding::Unsigned;
    type.bytes = bytes;
  });
}

TypeRef pointer_to_char(TypeModel& model) {
  const TypeRef character = number(model, "char", 1);
  return found_or(model, "char *", [&](types::Type& type) {
    type.shape = Shape::Pointer;
    type.bytes = 8;
    type.target = character;
  });
}

TypeRef buffer_of_chars(TypeModel& model) {
  const TypeRef character = number(model, "char", 1);
  return found_or(model, "char[16]", [&](types::Type& type) {
    type.shape = Shape::Array;
    type.target = character;
    type.count = 16;
  });
}

// Describes the type with this name if the model only declares it. Returns whether it does.
bool describe(TypeModel& model,
              std::string_view name,
              std::uint64_t bytes,
              const std::function<std::vector<types::Member>()>& members) {
  const TypeRef type = model.find(name);
  if (type == types::kNoType || model[type].shape != Shape::Opaque) return false;
  std::vector<types::Member> found = members();
  model[type].shape = Shape::Struct;
  model[type].bytes = bytes;
  model[type].members = std::move(found);
  model[type].known_from = {"dwarf"};
  return true;
}

}  // namespace

bool describe_strings(TypeModel& model) {
  bool is_changed = false;
  const auto text = [&] { return pointer_to_char(model); };
  for (const std::string_view name : kNames) {
    is_changed |= describe(model, fmt::format("{}::_Alloc_hider", name), 8, [&] {
      return std::vector<types::Member>{{"_M_p", 0, text()}};
    });
    is_changed |= describe(model, name, 32, [&] {
      return std::vector<types::Member>{{"_M_p", 0, text()},
                                        {"_M_string_length", 8, number(model, "unsigned long", 8)},
                                        {"_M_local_buf", 16, buffer_of_chars(model)}};
    });
  }
  return is_changed;
}

}  // namespace heapattach::cxx
