#include "symbols/crystal/type_sources.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace heapattach::crystal {

namespace {

Type of(std::uint32_t id, std::string name, std::uint64_t bytes = 0) {
  Type type;
  type.id = id;
  type.name = std::move(name);
  if (bytes != 0) type.instance_bytes = bytes;
  return type;
}

// A list as the compiler writes it: String, and other classes, each 16 bytes larger than the one
// before.
TypeList list_of(const std::vector<std::string>& names, KnownFrom source = KnownFrom::TypeInfo) {
  TypeList list;
  std::uint32_t id = 0;
  for (const std::string& name : names) {
    Type type = of(++id, name);
    if (source == KnownFrom::TypeInfo && id > 1) type.instance_bytes = 16 * id;
    type.known_from = {source};
    list.push_back(std::move(type));
  }
  return list;
}

AllocatorScan program_of(const TypeList& list, bool has_names) {
  AllocatorScan scan;
  for (const Type& type : list) {
    scan.types.push_back(of(type.id, has_names ? type.name : "", 16 * type.id));
    scan.types.back().known_from = {KnownFrom::AllocationSite};
  }
  scan.types.front() = of(1, "String");
  scan.types.front().known_from = {KnownFrom::AllocationSite};
  return scan;
}

std::vector<std::string> many(const std::string& extra) {
  std::vector<std::string> names = {"String"};
  if (!extra.empty()) names.push_back(extra);
  for (int i = 0; i < 40; ++i) names.push_back(fmt::format("App::Class{}", i));
  return names;
}

}  // namespace

TEST_CASE("a list that fits the program is used") {
  for (const bool has_names : {false, true}) {
    const TypeList list = list_of(many(""));
    const JoinedTypes joined = join_types({list}, program_of(list, has_names));
    CHECK(joined.refusal.empty());
    CHECK(joined.table.find(7U)->name == "App::Class5");
  }
}

TEST_CASE("a list of another build is refused by names, with an example, and costs no name") {
  const TypeList own = list_of(many(""));
  const TypeList other = list_of(many("App::Added"));
  const JoinedTypes joined = join_types({other}, program_of(own, true));
  CHECK(joined.refusal.find("type 2 is App::Class0 in the program") != std::string::npos);
  CHECK(joined.table.find(7U)->name == "App::Class5");
}

TEST_CASE("a list of another build is refused by sizes if the program has no names") {
  AllocatorScan program = program_of(list_of(many("")), false);
  for (Type& type : program.types) {
    if (type.instance_bytes) *type.instance_bytes += 8;
  }
  const JoinedTypes joined = join_types({list_of(many(""))}, std::move(program));
  CHECK(joined.refusal.find("bytes") != std::string::npos);
  CHECK(joined.table.find(7U)->name.empty());
}

TEST_CASE("a list with only names is refused if its arrays are not arrays") {
  std::vector<std::string> names = {"String"};
  for (int i = 0; i < 40; ++i) names.push_back(fmt::format("Array(App::Class{})", i));
  const TypeList arrays = list_of(names, KnownFrom::TypeIdTable);
  CHECK_FALSE(join_types({arrays}, program_of(list_of(many("")), false)).refusal.empty());
}

TEST_CASE("a single contradiction with the code does not refute a list") {
  const TypeList list = list_of(many(""));
  AllocatorScan program = program_of(list, true);
  program.types.push_back(of(4711, "", 64));  // a buffer that begins with a number
  CHECK(join_types({list}, std::move(program)).refusal.empty());
}

TEST_CASE("a list that lacks many of the program's types is used if its names are right") {
  const TypeList all = list_of(many(""));
  const TypeList some(all.begin(), all.begin() + 8);
  CHECK(join_types({some}, program_of(all, true)).refusal.empty());
  CHECK_FALSE(join_types({some}, program_of(all, false)).refusal.empty());
}

TEST_CASE("of several lists the one that fits best is used, and the last among equals") {
  const TypeList own = list_of(many(""), KnownFrom::TypeIdTable);
  const TypeList macro = list_of(many("Macro::Helper"), KnownFrom::TypeIdTable);
  for (const bool is_last : {false, true}) {
    std::vector<TypeList> lists = {is_last ? macro : own, is_last ? own : macro};
    const JoinedTypes joined = join_types(std::move(lists), program_of(own, true));
    CHECK(joined.refusal.empty());
    CHECK(joined.table.find(7U)->name == "App::Class5");
  }
  AllocatorScan silent;
  CHECK(join_types({macro, own}, std::move(silent)).table.find(7U)->name == "App::Class5");
}

TEST_CASE("a text may hold several lists") {
  const std::string one =
      "CRYSTAL_DUMP_TYPE_ID\n{1 - 3}: Object\n  {1 - 2}: Reference\n    {1 - 1}: ";
  const auto lists = parse_type_lists("building\n" + one + "Macro\n\nmore\n" + one + "String\n\n");
  REQUIRE(lists.has_value());
  REQUIRE(lists->size() == 2);
  CHECK(lists->front().front().name == "Macro");
  CHECK(lists->back().front().name == "String");
}

}  // namespace heapattach::crystal
