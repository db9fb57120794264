#include "symbols/nim/types.h"

#include <string>

#include <doctest/doctest.h>

namespace heapattach {

namespace {

const std::string kSession = "struct tyObject_SessioncolonObjectType___bY0ldn0etn6e2qB9a0Xrexw";
const std::string kAdmin = "struct tyObject_AdmincolonObjectType___3C432l8dtj72vGq21apgmA";

types::TypeRef add(types::TypeModel& model,
                   const std::string& name,
                   types::Shape shape,
                   std::vector<types::Member> members = {}) {
  const types::TypeRef ref = model.intern(name);
  model[ref].shape = shape;
  model[ref].members = std::move(members);
  return ref;
}

}  // namespace

TEST_CASE("the C names of Nim's types have the name that the program gave them") {
  CHECK(nim::object_name(kSession)->name == "Session");
  CHECK(nim::object_name(kSession)->hash == "bY0ldn0etn6e2qB9a0Xrexw");
  CHECK(nim::object_name("struct tyObject_Item__O9aReeD2vjbR7iz2XjEhp7Q")->name == "Item");
  CHECK(nim::info_name("NTIadmin58objecttype__3C432l8dtj72vGq21apgmA_")->name == "admin");
  CHECK(nim::info_name("NTIadmin58objecttype__3C432l8dtj72vGq21apgmA_")->hash ==
        nim::object_name(kAdmin)->hash);
  CHECK_FALSE(nim::object_name("struct tyObject_"));
  CHECK_FALSE(nim::object_name("struct tyObject___bY0ldn0etn6e2qB9a0Xrexw"));
  CHECK_FALSE(nim::object_name("struct tyObject_my_short__name"));
  CHECK_FALSE(nim::object_name("struct session"));
  CHECK_FALSE(nim::info_name("NTI"));
  CHECK_FALSE(nim::info_name("NTI_PARSER_STATE_"));
}

TEST_CASE("a closure is named after its procedure, and a tuple after its members") {
  using types::Shape;
  types::TypeModel model;
  const auto closure =
      add(model, "struct tyObject_Env_shopdotnim_greet___diB2NTuAIWY0FO9c5IUJRGg", Shape::Struct);
  const auto other =
      add(model, "struct tyObject_Env_greet___aiB2NTuAIWY0FO9c5IUJRGg", Shape::Struct);
  const auto number = add(model, "long", Shape::Number);
  const auto pair = add(model, "struct tyTuple__kuMQ1fbjJlHtwKTmBGAe6g", Shape::Struct,
                        {{"Field0", 0, number}, {"Field1", 8, closure}});
  const auto nested = add(model, "struct tyTuple__luMQ1fbjJlHtwKTmBGAe6g", Shape::Struct,
                          {{"Field0", 0, number}, {"Field1", 8, pair}});
  const auto endless = add(model, "struct tyTuple__muMQ1fbjJlHtwKTmBGAe6g", Shape::Struct);
  model[endless].members = {{"Field0", 0, endless}};
  const auto long_one = add(model, "struct tyTuple__nuMQ1fbjJlHtwKTmBGAe6g", Shape::Struct);
  for (std::uint64_t i = 0; i < 100; ++i) {
    model[long_one].members.push_back({"Field", i * 8, number});
  }
  const nim::ShownNames names = nim::shown_names(model);
  CHECK(names.at(closure) == "closure of greet");
  CHECK(names.at(other) == "Env_greet");
  CHECK(names.at(pair) == "tuple[int, closure of greet]");
  CHECK(names.at(nested) == "tuple[int, tuple[int, closure of greet]]");
  CHECK(names.at(endless).size() < 100);
  CHECK_FALSE(names.contains(long_one));
}

TEST_CASE("Nim's sequences are named after what is in them, and types of one name are told apart") {
  using types::Shape;
  types::TypeModel model;
  const auto root = add(model, "struct RootObj", Shape::Struct);
  const auto session = add(model, kSession, Shape::Struct, {{"Sup", 0, root}, {"name", 8, root}});
  const auto admin = add(model, kAdmin, Shape::Struct, {{"Sup", 0, session}});
  const auto first = add(model, "struct tyObject_Item__O9aReeD2vjbR7iz2XjEhp7Q", Shape::Struct);
  const auto second = add(model, "struct tyObject_Item__P9aReeD2vjbR7iz2XjEhp7Q", Shape::Struct);
  const auto pointer = add(model, kSession + " *", Shape::Pointer);
  model[pointer].target = session;
  const auto array = add(model, kSession + " *[1]", Shape::Array);
  model[array].target = pointer;
  const auto generic = add(model, "struct TGenericSeq", Shape::Struct);
  const auto sequence = add(model, "struct tySequence__nG2skzMt9aOrbHbIUqmBNdg", Shape::Struct,
                            {{"Sup", 0, generic}, {"data", 16, array}});
  const auto number = add(model, "long", Shape::Number);
  const auto numbers = add(model, "long[1]", Shape::Array);
  model[numbers].target = number;
  const auto counts = add(model, "struct tySequence__sM4lkSb7zS6F7OVMvW9cffQ", Shape::Struct,
                          {{"Sup", 0, generic}, {"data", 16, numbers}});
  const auto plain = add(model, "struct other", Shape::Struct, {{"Sup", 0, first}});
  const auto stranger = add(model, "struct stranger", Shape::Struct, {{"Sup", 0, plain}});

  const nim::ShownNames names = nim::shown_names(model);
  CHECK(names.at(session) == "Session");
  CHECK(names.at(admin) == "Admin");
  CHECK(names.at(first) == "Item (O9aR)");
  CHECK(names.at(second) == "Item (P9aR)");
  CHECK(names.at(sequence) == "seq[Session]");
  CHECK(names.at(counts) == "seq[int]");
  CHECK_FALSE(names.contains(plain));

  CHECK(nim::describe_bases(model));
  CHECK(model[admin].members.front().is_base);
  CHECK(model[admin].members.front().name.empty());
  CHECK(model[sequence].members.front().is_base);
  CHECK_FALSE(model[stranger].members.front().is_base);
  CHECK_FALSE(nim::describe_bases(model));
}

}  // namespace heapattach
