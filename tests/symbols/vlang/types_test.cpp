#include "symbols/vlang/types.h"

#include <string>

#include <doctest/doctest.h>

#include "symbols/vlang/variants.h"

namespace heapattach {

namespace {

using types::Member;
using types::Shape;
using types::TypeModel;
using types::TypeRef;

TypeRef add(TypeModel& model,
            const std::string& name,
            Shape shape,
            std::vector<Member> members = {}) {
  const TypeRef ref = model.intern(name);
  model[ref].shape = shape;
  model[ref].members = std::move(members);
  return ref;
}

TypeRef add_pointer(TypeModel& model, const std::string& name, TypeRef target) {
  const TypeRef ref = add(model, name, Shape::Pointer);
  model[ref].target = target;
  return ref;
}

// Adds a typedef of the structure `base`.
TypeRef add_typedef(TypeModel& model, const std::string& name, TypeRef base) {
  Member member;
  member.is_base = true;
  member.type = base;
  return add(model, name, Shape::Struct, {member});
}

// A program with the types that every program in V has.
struct Program {
  TypeModel model;
  TypeRef number = add(model, "int", Shape::Number);
  TypeRef byte = add(model, "unsigned char", Shape::Number);
  TypeRef bytes = add_pointer(model, "unsigned char *", byte);
  TypeRef any = add_pointer(model, "void *", types::kNoType);
  TypeRef text = add(model,
                     "struct string",
                     Shape::Struct,
                     {{"str", 0, bytes}, {"len", 8, number}, {"is_lit", 12, number}});
  TypeRef array = add(
      model,
      "struct array",
      Shape::Struct,
      {{"data", 0, any}, {"len", 8, number}, {"cap", 12, number}, {"element_size", 16, number}});
  TypeRef entries = add(model,
                        "struct DenseArray",
                        Shape::Struct,
                        {{"keys", 0, bytes}, {"values", 8, bytes}, {"all_deleted", 16, bytes}});
  TypeRef map = add(model, "struct map", Shape::Struct, {{"key_values", 0, entries}});
  TypeRef session = add(model, "struct main__Session", Shape::Struct, {{"name", 0, text}});

  [[nodiscard]] const types::Type& pointer_in(TypeRef owner, std::size_t member) const {
    return model[model[owner].members.at(member).type];
  }
};

}  // namespace

TEST_CASE("only V's own structures have typedefs that state the types of their contents") {
  CHECK(vlang::is_container("Array_int", "array"));
  CHECK(vlang::is_container("Map_string_int", "map"));
  CHECK_FALSE(vlang::is_container("Array_int", "map"));
  CHECK_FALSE(vlang::is_container("Array_int", "numbers"));
  CHECK_FALSE(vlang::is_container("array", "array"));
}

TEST_CASE("an array's typedef says what its buffer contains") {
  Program v;
  const TypeRef sessions = add_typedef(v.model, "Array_main__Session", v.array);
  const TypeRef pointers = add_typedef(v.model, "Array_main__Session_ptr", v.array);
  const TypeRef nested = add_typedef(v.model, "Array_Array_main__Session", v.array);
  const TypeRef unknown = add_typedef(v.model, "Array_main__Other", v.array);
  CHECK(vlang::describe(v.model));
  CHECK(v.pointer_in(sessions, 0).target == v.session);
  CHECK(v.model[v.pointer_in(pointers, 0).target].target == v.session);
  CHECK(v.pointer_in(nested, 0).target == sessions);
  CHECK(v.pointer_in(unknown, 0).name == "void *");
  CHECK(vlang::owner_of_buffer(v.pointer_in(nested, 0).name) == "Array_Array_main__Session");
  CHECK(vlang::owner_of_buffer("void *").empty());
  const auto names = vlang::shown_names(v.model);
  CHECK(names.at(sessions) == "[]main.Session");
  CHECK(names.at(pointers) == "[]&main.Session");
  CHECK(names.at(nested) == "[][]main.Session");
  CHECK_FALSE(names.contains(unknown));
}

TEST_CASE("newer releases have a header in front of an array's elements, but not of a map's") {
  Program v;
  const TypeRef flags = add(v.model, "ArrayFlags", Shape::Enumeration);
  v.model[flags].enumerators = {{"ArrayFlags__noslices", 1}, {"ArrayFlags__managed", 16}};
  const TypeRef sessions = add_typedef(v.model, "Array_main__Session", v.array);
  const TypeRef map = add_typedef(v.model, "Map_string_int", v.map);
  CHECK(vlang::describe(v.model));
  const std::string& data = v.pointer_in(sessions, 0).name;
  CHECK(vlang::has_header(data));
  CHECK(vlang::owner_of_buffer(data) == "Array_main__Session");
  CHECK(vlang::shown_names(v.model).at(sessions) == "[]main.Session");
  const std::string& keys = v.pointer_in(v.model[map].members.at(0).type, 0).name;
  CHECK_FALSE(vlang::has_header(keys));
  CHECK(vlang::owner_of_buffer(keys) == "Map_string_int");
}

TEST_CASE("a map's typedef says what its keys and values are, if only one reading is possible") {
  Program v;
  const TypeRef map = add_typedef(v.model, "Map_string_main__Session_ptr", v.map);
  for (const char* const name :
       {"struct main__a", "struct main__a_main__b", "struct main__b", "struct main__b_main__b"}) {
    add(v.model, name, Shape::Struct);
  }
  const TypeRef unclear = add_typedef(v.model, "Map_main__a_main__b_main__b", v.map);
  CHECK(vlang::describe(v.model));
  const TypeRef entries = v.model[map].members.at(0).type;
  CHECK(entries != v.entries);
  CHECK(v.pointer_in(entries, 0).target == v.text);
  CHECK(v.model[v.pointer_in(entries, 1).target].target == v.session);
  CHECK(v.pointer_in(entries, 2).name == "unsigned char *");
  const TypeRef others = v.model[unclear].members.at(0).type;
  CHECK(others == v.entries);
  CHECK(v.pointer_in(others, 0).name == "void *");
  CHECK(v.pointer_in(others, 1).name == "void *");
  const auto names = vlang::shown_names(v.model);
  CHECK(names.at(map) == "map[string]&main.Session");
  CHECK_FALSE(names.contains(unclear));
}

TEST_CASE("the value of a sum type or an interface is of no type that can be known") {
  Program v;
  const TypeRef circle = add(v.model, "struct main__Circle", Shape::Struct, {{"r", 0, v.number}});
  const TypeRef to_circle = add_pointer(v.model, "struct main__Circle *", circle);
  const TypeRef to_session = add_pointer(v.model, "struct main__Session *", v.session);
  const TypeRef several = add(v.model, "(union at shop.c:4)", Shape::Union,
                              {{"_main__Circle", 0, to_circle}, {"_main__Session", 0, to_session}});
  const TypeRef to_text = add_pointer(v.model, "struct string *", v.text);
  const TypeRef shape = add(v.model, "struct main__Shape", Shape::Struct,
                            {{"", 0, several}, {"_typ", 8, v.number}, {"name", 16, to_text}});
  CHECK(vlang::describe(v.model));
  const types::Type& value = v.model[v.pointer_in(shape, 0).target];
  CHECK(value.shape == Shape::Opaque);
  CHECK(vlang::is_of_variants(value));
  CHECK(vlang::owner_of_value(value.name) == "struct main__Shape");
  REQUIRE(value.members.size() == 2);
  CHECK(value.members[0].name == "_main__Circle");
  CHECK(value.members[1].type == v.session);
  CHECK(value.enumerators.empty());
  CHECK(v.pointer_in(shape, 2).name == "void *");
  CHECK(vlang::shown_names(v.model).at(v.model.find(value.name)) == "(value of main.Shape)");
}

TEST_CASE("an interface's constants say which number stands for which of its types") {
  Program v;
  const TypeRef to_session = add_pointer(v.model, "struct main__Session *", v.session);
  const TypeRef to_text = add_pointer(v.model, "struct string *", v.text);
  const TypeRef several =
      add(v.model, "(union at shop.c:4)", Shape::Union,
          {{"_object", 0, v.any}, {"_main__Session", 0, to_session}, {"_string", 0, to_text}});
  const TypeRef speaker = add(v.model, "struct main__Speaker", Shape::Struct,
                              {{"", 0, several}, {"_typ", 8, v.number}});
  const TypeRef numbers = add(v.model, "(enum at shop.c:9)", Shape::Enumeration);
  v.model[numbers].enumerators = {{"_main__Speaker_main__Session_index", 3}};
  bool is_ambiguous = false;
  SUBCASE("each type has its own") {}
  SUBCASE("two types have one") {
    v.model[numbers].enumerators.push_back({"_main__Speaker_string_index", 3});
    is_ambiguous = true;
  }
  CHECK(vlang::describe(v.model));
  vlang::find_variants(Modules{{}}, v.model);
  const types::Type& value = v.model[v.pointer_in(speaker, 0).target];
  CHECK(value.members.size() == 2);
  REQUIRE(value.enumerators.size() == (is_ambiguous ? 0 : 1));
  if (is_ambiguous) return;
  CHECK(value.enumerators[0].name == "_main__Session");
  CHECK(value.enumerators[0].value == 3);
}

TEST_CASE("the values of V's enumerations are named as in V, and those of C as in C") {
  Program v;
  int line = 20;
  const auto add_values = [&](std::vector<types::Enumerator> values) {
    const std::string name = "(enum at shop.c:" + std::to_string(line++) + ')';
    const TypeRef ref = add(v.model, name, Shape::Enumeration);
    v.model[ref].enumerators = std::move(values);
    return ref;
  };
  const TypeRef color = add_values({{"main__Color__green", 0}, {"main__Color__dark_red", 1}});
  const TypeRef state = add_values({{"State__on", 0}, {"State__off", 1}});
  const TypeRef mixed = add_values({{"main__Color__green", 0}, {"OTHER", 1}});
  const TypeRef of_c = add_values({{"lib__one", 0}, {"lib__two", 1}});
  CHECK(vlang::describe(v.model));
  CHECK(v.model[color].enumerators[0].name == "green");
  CHECK(v.model[color].enumerators[1].name == "dark_red");
  CHECK(v.model[state].enumerators[1].name == "off");
  CHECK(v.model[mixed].enumerators[0].name == "main__Color__green");
  CHECK(v.model[of_c].enumerators[0].name == "lib__one");
}

TEST_CASE("names of V's types are as in V, and those of C as in C") {
  Program v;
  const TypeRef pointer = add_pointer(v.model, "struct main__Session *", v.session);
  const TypeRef nested = add(v.model, "struct net__http__Request", Shape::Struct);
  const TypeRef arguments = add(v.model, "struct thread_arg_main__work", Shape::Struct);
  const TypeRef of_c = add(v.model, "struct __pthread_internal_list", Shape::Struct);
  const TypeRef stat = add(v.model, "struct stat", Shape::Struct);
  CHECK(vlang::describe(v.model));
  const auto names = vlang::shown_names(v.model);
  CHECK(names.at(v.session) == "main.Session");
  CHECK(names.at(pointer) == "&main.Session");
  CHECK(names.at(nested) == "net.http.Request");
  CHECK(names.at(arguments) == "(arguments of thread main.work)");
  CHECK(names.at(v.text) == "string");
  CHECK(names.at(v.byte) == "u8");
  CHECK_FALSE(names.contains(of_c));
  CHECK_FALSE(names.contains(stat));
}

TEST_CASE("the model of a program that is not in V stays as it is") {
  TypeModel model;
  const TypeRef number = add(model, "int", Shape::Number);
  const TypeRef array = add(model, "struct array", Shape::Struct, {{"data", 0, number}});
  const TypeRef typed = add_typedef(model, "Array_int", array);
  add(model, "struct my__Session", Shape::Struct);
  CHECK_FALSE(vlang::describe(model));
  CHECK(model[typed].members.at(0).is_base);
  CHECK(vlang::shown_names(model).empty());
}

TEST_CASE("types that contain themselves end") {
  Program v;
  std::string name = "Array_";
  for (int i = 0; i < 100; ++i) name += "Array_";
  const TypeRef deep = add_typedef(v.model, name, v.array);
  const TypeRef own = add_typedef(v.model, "Array_Array_x", v.array);
  std::string pointers = "Array_int";
  for (int i = 0; i < 100; ++i) pointers += "_ptr";
  const TypeRef many = add_typedef(v.model, pointers, v.array);
  CHECK(vlang::describe(v.model));
  CHECK_FALSE(vlang::shown_names(v.model).contains(deep));
  CHECK_FALSE(vlang::shown_names(v.model).contains(own));
  CHECK_FALSE(vlang::shown_names(v.model).contains(many));
}

}  // namespace heapattach
