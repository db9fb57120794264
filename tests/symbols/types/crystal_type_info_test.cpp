#include "symbols/types/crystal_type_info.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "symbols/crystal/type_info.h"
#include "symbols/types/model_checks.h"

namespace heapattach::types {

namespace {

// A list as the compiler writes it, cut down to one class with many fields, and their types.
constexpr std::string_view kJson = R"json({"types":[
{"name":"String","id":1,"size":8,"instance_size":16,"instance_vars":[
  {"name":"@bytesize","type_name":"Int32","offset":4,"size":4}]},
{"name":"Session","id":7,"size":8,"instance_size":120,"instance_vars":[
  {"name":"@parent","type_name":"(Session | Nil)","offset":8,"size":8},
  {"name":"@error","type_name":"(Exception+ | Nil)","offset":16,"size":8},
  {"name":"@owner","type_name":"(Session | String)","offset":24,"size":8},
  {"name":"@age","type_name":"(Int32 | Nil)","offset":32,"size":16},
  {"name":"@pair","type_name":"Tuple(Int32, String)","offset":48,"size":16},
  {"name":"@at","type_name":"NamedTuple(x: Int8, y: Int32)","offset":64,"size":8},
  {"name":"@entries","type_name":"Pointer(Hash::Entry(String, String | Nil))","offset":72,"size":8},
  {"name":"@cells","type_name":"StaticArray(Int32, 2)","offset":80,"size":8},
  {"name":"@block","type_name":"(Proc(Int32, Nil) | Nil)","offset":88,"size":16},
  {"name":"@kind","type_name":"Session::Kind","offset":104,"size":4},
  {"name":"@class","type_name":"Session.class","offset":108,"size":4},
  {"name":"@io","type_name":"IO+","offset":112,"size":8}]},
{"name":"Exception","id":9,"size":8,"instance_size":8,"instance_vars":[]},
{"name":"Hash::Entry(String, String | Nil)","id":11,"size":24,"instance_vars":[
  {"name":"@hash","type_name":"UInt32","offset":0,"size":4},
  {"name":"@key","type_name":"String","offset":8,"size":8},
  {"name":"@value","type_name":"(String | Nil)","offset":16,"size":8}]}
]})json";

TypeModel model_of(std::string_view json) {
  auto types = crystal::parse_type_info(json);
  REQUIRE(types);
  crystal::TypeTable table;
  for (crystal::Type& type : *types) table.add(std::move(type));
  return types_from_table(table);
}

const Type& field(const TypeModel& model, std::string_view holder, std::string_view name) {
  CAPTURE(std::string(name));
  for (const Member& member : model[model.find(holder)].members) {
    if (member.name == name) return model[member.type];
  }
  FAIL("no such field");
  return model[0];
}

std::string target_of(const TypeModel& model, const Type& type) {
  return type.target == kNoType ? "none" : model[type.target].name;
}

}  // namespace

TEST_CASE("a class of the compiler's list has a header and its fields") {
  const TypeModel model = model_of(kJson);
  const Type& session = model[model.find("Session")];
  CHECK(session.has_header);
  CHECK(session.bytes == 120);
  CHECK(session.members.size() == 12);
  CHECK(session.known_from == std::vector<std::string>{"type-info"});
}

TEST_CASE("a union of classes is a reference, whose class is known if there is only one") {
  const TypeModel model = model_of(kJson);
  for (const char* name : {"@parent", "@error", "@owner"}) {
    CHECK(field(model, "Session", name).shape == Shape::Pointer);
    CHECK(field(model, "Session", name).is_reference);
  }
  CHECK(target_of(model, field(model, "Session", "@parent")) == "Session");
  CHECK(target_of(model, field(model, "Session", "@error")) == "Exception");
  CHECK(target_of(model, field(model, "Session", "@owner")) == "none");
}

TEST_CASE("a mixed union is a type id and a value") {
  const TypeModel model = model_of(kJson);
  const Type& age = field(model, "Session", "@age");
  REQUIRE(age.shape == Shape::Struct);
  REQUIRE(age.members.size() == 2);
  CHECK(age.members[1].offset == 8);
  CHECK(model[age.members[1].type].shape == Shape::Union);
}

TEST_CASE("tuples are laid out by the alignment of their elements") {
  const TypeModel model = model_of(kJson);
  const Type& pair = field(model, "Session", "@pair");
  REQUIRE(pair.members.size() == 2);
  CHECK(pair.members[1].name == "[1]");
  CHECK(pair.members[1].offset == 8);
  CHECK(model[pair.members[1].type].is_reference);
  const Type& at = field(model, "Session", "@at");
  REQUIRE(at.members.size() == 2);
  CHECK(at.members[1].name == "y");
  CHECK(at.members[1].offset == 4);
  CHECK(at.bytes == 8);
}

TEST_CASE("a pointer to entries points to structures in place") {
  const TypeModel model = model_of(kJson);
  const Type& entries = field(model, "Session", "@entries");
  CHECK(entries.shape == Shape::Pointer);
  CHECK_FALSE(entries.is_reference);
  REQUIRE(entries.target != kNoType);
  const Type& entry = model[entries.target];
  CHECK(entry.shape == Shape::Struct);
  CHECK(entry.bytes == 24);
  CHECK(target_of(model, field(model, entry.name, "@key")) == "String");
  CHECK(target_of(model, field(model, entry.name, "@value")) == "String");
}

TEST_CASE("arrays in place, procs, enumerations and classes of classes have their shapes") {
  const TypeModel model = model_of(kJson);
  CHECK(field(model, "Session", "@cells").count == 2);
  CHECK(field(model, "Session", "@cells").bytes == 8);
  const Type& block = field(model, "Session", "@block");
  REQUIRE(block.members.size() == 2);
  CHECK(model[block.members[0].type].shape == Shape::Code);
  CHECK(field(model, "Session", "@kind").shape == Shape::Number);
  CHECK(field(model, "Session", "@class").bytes == 4);
  CHECK(field(model, "Session", "@io").is_reference);
}

TEST_CASE("endlessly nested type names do no harm") {
  std::string name = "Int32";
  for (int i = 0; i < 1000; ++i) name = fmt::format("Pointer({})", name);
  const TypeModel model = model_of(
      fmt::format(R"({{"types":[{{"name":"A","id":1,"size":8,"instance_size":16,"instance_vars":[)"
                  R"({{"name":"@p","type_name":"{}","offset":8,"size":8}}]}}]}})",
                  name));
  CHECK(field(model, "A", "@p").shape == Shape::Pointer);
}

}  // namespace heapattach::types
