#include "symbols/types/model_checks.h"

#include <doctest/doctest.h>

namespace heapattach::types {

namespace {

Variable global(const std::string& name, TypeRef type, std::uint64_t address) {
  Variable variable;
  variable.name = name;
  variable.type = type;
  variable.address = RemoteAddr{address};
  return variable;
}

TypeRef add_struct(TypeModel& model, const std::string& name, std::uint64_t bytes) {
  const TypeRef at = model.intern(name);
  model[at].shape = Shape::Struct;
  model[at].bytes = bytes;
  return at;
}

}  // namespace

TEST_CASE("a struct that contains itself loses that member") {
  TypeModel model;
  const TypeRef outer = add_struct(model, "outer", 16);
  const TypeRef inner = add_struct(model, "inner", 16);
  const TypeRef array = model.intern("outer[1]");
  model[array].shape = Shape::Array;
  model[array].target = outer;
  model[array].count = 1;
  model[outer].members = {{"inner", 0, inner}, {"self", 0, outer}};
  model[inner].members = {{"all", 0, array}};
  make_sound(model);
  CHECK(model[outer].members[0].type == inner);
  CHECK(model[outer].members[1].type == kNoType);
  CHECK(model[array].target == kNoType);
}

TEST_CASE("a hundred thousand nested structs are walked without recursion") {
  TypeModel model;
  TypeRef last = add_struct(model, "0", 8);
  for (int i = 1; i < 100'000; ++i) {
    const TypeRef next = add_struct(model, std::to_string(i), 8);
    model[next].members = {{"m", 0, last}};
    last = next;
  }
  make_sound(model);
  CHECK(model[last].members.size() == 1);
}

TEST_CASE("references to nonexistent types become no type") {
  TypeModel model;
  const TypeRef node = add_struct(model, "node", 16);
  model[node].members = {{"next", 0, 77}};
  model[node].target = 1'000'000;
  model.globals.push_back(global("first", 5, 8));
  make_sound(model);
  CHECK(model[node].members[0].type == kNoType);
  CHECK(model[node].target == kNoType);
  CHECK(model.globals[0].type == kNoType);
}

TEST_CASE("sizes that no type has are ignored") {
  TypeModel model;
  const TypeRef huge = add_struct(model, "huge", std::uint64_t{1} << 63);
  const TypeRef element = add_struct(model, "element", std::uint64_t{1} << 39);
  const TypeRef array = model.intern("array");
  model[array].shape = Shape::Array;
  model[array].target = element;
  model[array].count = std::uint64_t{1} << 39;
  make_sound(model);
  CHECK_FALSE(model[huge].bytes.has_value());
  CHECK_FALSE(model[array].count.has_value());
  CHECK_FALSE(model[array].bytes.has_value());
}

TEST_CASE("members outside of their struct are left out") {
  TypeModel model;
  const TypeRef inner = add_struct(model, "inner", 16);
  const TypeRef outer = add_struct(model, "outer", 16);
  model[outer].members = {{"a", 8, inner}, {"b", 24, inner}, {"c", 0, inner}};
  make_sound(model);
  REQUIRE(model[outer].members.size() == 1);
  CHECK(model[outer].members[0].name == "c");
}

TEST_CASE("a merge keeps the first description, and reports where the other differs") {
  TypeModel into;
  const TypeRef ours = add_struct(into, "node", 16);
  into[ours].known_from = {"dwarf"};
  TypeModel from;
  const TypeRef other = add_struct(from, "other", 8);
  const TypeRef theirs = add_struct(from, "node", 24);
  from[theirs].known_from = {"type-info"};
  from[other].members = {{"node", 0, theirs}};
  from.globals.push_back(global("global", theirs, 8));
  merge(into, from);
  CHECK(into[ours].bytes == 16);
  CHECK(into[ours].known_from == std::vector<std::string>{"dwarf", "type-info"});
  CHECK(into.disagreements.size() == 1);
  CHECK(into[into.find("other")].members[0].type == ours);
  CHECK(into.globals[0].type == ours);
}

TEST_CASE("a merge completes undescribed types") {
  TypeModel into;
  const TypeRef ours = into.intern("node");
  TypeModel from;
  add_struct(from, "node", 24);
  merge(into, from);
  CHECK(into[ours].bytes == 24);
  CHECK(into.disagreements.empty());
}

}  // namespace heapattach::types
