#pragma once

#include <string>
#include <utility>
#include <vector>

#include "symbols/types/type_model.h"

namespace heapattach {

// Builds a TypeModel from a few lines, with type names as the readers write them.
class ModelBuilder {
 public:
  using Members = std::vector<types::Member>;

  types::TypeRef number(const std::string& name, std::uint64_t bytes) {
    const auto ref = made(name, types::Shape::Number, bytes);
    model[ref].encoding = types::Encoding::Signed;
    return ref;
  }
  types::TypeRef opaque(const std::string& name, std::optional<std::uint64_t> bytes = {}) {
    return made(name, types::Shape::Opaque, bytes);
  }
  // A C pointer: "struct node *".
  types::TypeRef pointer(types::TypeRef target) {
    return leading_to(model[target].name + " *", target);
  }
  // Crystal's Pointer(T).
  types::TypeRef buffer(types::TypeRef element) {
    return leading_to("Pointer(" + model[element].name + ")", element);
  }
  // A Crystal reference.
  types::TypeRef reference(types::TypeRef target) {
    const auto ref = leading_to(model[target].name + " *", target);
    model[ref].is_reference = true;
    return ref;
  }
  types::TypeRef structure(const std::string& name, std::uint64_t bytes, Members members = {}) {
    const auto ref = made(name, types::Shape::Struct, bytes);
    model[ref].members = std::move(members);
    return ref;
  }
  // A Crystal class.
  types::TypeRef klass(const std::string& name, std::uint64_t bytes, Members members = {}) {
    const auto ref = structure(name, bytes, std::move(members));
    model[ref].has_header = true;
    return ref;
  }
  types::TypeRef any_of(const std::string& name, std::uint64_t bytes, Members members) {
    const auto ref = structure(name, bytes, std::move(members));
    model[ref].shape = types::Shape::Union;
    return ref;
  }
  types::TypeRef array(types::TypeRef element, std::optional<std::uint64_t> count) {
    const auto ref = made(model[element].name + "[" + (count ? std::to_string(*count) : "") + "]",
                          types::Shape::Array, std::nullopt);
    model[ref].target = element;
    model[ref].count = count;
    return ref;
  }

  types::TypeModel model;

 private:
  types::TypeRef made(const std::string& name,
                      types::Shape shape,
                      std::optional<std::uint64_t> bytes) {
    const auto ref = model.intern(name);
    model[ref].shape = shape;
    model[ref].bytes = bytes;
    model[ref].known_from = {"dwarf"};
    return ref;
  }
  types::TypeRef leading_to(const std::string& name, types::TypeRef target) {
    const auto ref = made(name, types::Shape::Pointer, 8);
    model[ref].target = target;
    return ref;
  }
};

}  // namespace heapattach
