#include "symbols/types/member_path.h"

#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace heapattach::types {

namespace {

struct Known {
  TypeModel model;

  TypeRef add(const char* name, Shape shape, std::uint64_t bytes) {
    const TypeRef made = model.intern(name);
    model[made].shape = shape;
    model[made].bytes = bytes;
    return made;
  }
  TypeRef array(const char* name, TypeRef of, std::uint64_t count) {
    const TypeRef made = add(name, Shape::Array, *model[of].bytes * count);
    model[made].target = of;
    model[made].count = count;
    return made;
  }
  TypeRef aggregate(const char* name,
                    Shape shape,
                    std::uint64_t bytes,
                    std::vector<Member> members) {
    const TypeRef made = add(name, shape, bytes);
    model[made].members = std::move(members);
    return made;
  }
};

Member member(const char* name, std::uint64_t offset, TypeRef type) {
  Member made;
  made.name = name;
  made.offset = offset;
  made.type = type;
  return made;
}

}  // namespace

TEST_CASE("a word in a variable is named as a programmer would write it") {
  Known known;
  const TypeRef pointer = known.add("struct node *", Shape::Pointer, 8);
  const TypeRef spare = known.array("struct node *[4]", pointer, 4);
  const TypeRef pool = known.aggregate("struct pool", Shape::Struct, 48,
                                       {member("head", 8, pointer), member("spare", 16, spare)});
  const TypeRef pools = known.array("struct pool[3]", pool, 3);
  const TypeRef db = known.aggregate("struct db", Shape::Struct, 160, {member("pools", 8, pools)});
  CHECK(member_path(known.model, db, 8 + 2 * 48 + 8) == ".pools[2].head");
  CHECK(member_path(known.model, db, 8 + 48 + 16 + 24) == ".pools[1].spare[3]");
  CHECK(member_path(known.model, pools, 48 + 8) == "[1].head");
  CHECK(member_path(known.model, db, 8 + 48) == ".pools[1]");  // no known member is there
  CHECK(member_path(known.model, db, 0).empty());
  CHECK(member_path(known.model, db, 160).empty());
  CHECK(member_path(known.model, pointer, 0).empty());
  CHECK(member_path(known.model, kNoType, 0).empty());
}

TEST_CASE("bases and unnamed members add nothing to the name of a word in a variable") {
  Known known;
  const TypeRef pointer = known.add("char *", Shape::Pointer, 8);
  const TypeRef base = known.aggregate("Base", Shape::Struct, 16, {member("name", 8, pointer)});
  const TypeRef unnamed =
      known.aggregate("(struct at a.cc:3)", Shape::Struct, 8, {member("next", 0, pointer)});
  Member inherited = member("", 0, base);
  inherited.is_base = true;
  const TypeRef whole =
      known.aggregate("Whole", Shape::Struct, 24, {std::move(inherited), member("", 16, unnamed)});
  CHECK(member_path(known.model, whole, 8) == ".name");
  CHECK(member_path(known.model, whole, 16) == ".next");
}

TEST_CASE("the name of a word in a variable ends before unions and the C++ library's types") {
  Known known;
  const TypeRef pointer = known.add("char *", Shape::Pointer, 8);
  const TypeRef either = known.aggregate("union u", Shape::Union, 8,
                                         {member("a", 0, pointer), member("b", 0, pointer)});
  const TypeRef map = known.aggregate("std::map<int, char *>", Shape::Struct, 48,
                                      {member("_M_t", 0, known.array("char *[6]", pointer, 6))});
  const TypeRef whole = known.aggregate("Whole", Shape::Struct, 56,
                                        {member("either", 0, either), member("users", 8, map)});
  CHECK(member_path(known.model, whole, 0) == ".either");
  CHECK(member_path(known.model, whole, 8 + 16) == ".users");
}

TEST_CASE("a type that contains itself and an array without elements end a word's name") {
  Known known;
  const TypeRef loop = known.add("struct loop", Shape::Struct, 8);
  known.model[loop].members = {member("again", 0, loop)};
  CHECK(member_path(known.model, loop, 0).size() <= 48 * 6);
  const TypeRef nothing = known.add("struct nothing", Shape::Struct, 0);
  const TypeRef list = known.array("struct nothing[2]", nothing, 2);
  known.model[list].bytes = 16;
  CHECK(member_path(known.model, list, 8).empty());
}

}  // namespace heapattach::types
