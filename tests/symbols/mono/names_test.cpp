#include "symbols/mono/names.h"

#include <doctest/doctest.h>

#include "tests/symbols/mono/mono_heap.h"

namespace heapattach {
namespace {

TEST_CASE("Mono is recognised by classes that every program has") {
  MonoHeap mono;
  REQUIRE(mono.facts());
  CHECK(mono.facts()->methods_at == MonoHeap::kMethods);
}

TEST_CASE("a Mono that has not started, or whose classes look different, is not recognised") {
  MonoHeap mono;
  SUBCASE("there is no class yet") {
    mono.string = 0;
  }
  SUBCASE("two functions return the same class") {
    mono.exception = mono.object;
  }
  SUBCASE("the name is somewhere else") {
    mono.put(mono.boolean + mono::kName, 0);
  }
  SUBCASE("the base class is another") {
    mono.put(mono.enumeration + mono::kParent, mono.object);
  }
  SUBCASE("a structure is not marked as one") {
    mono.put(mono.boolean + mono::kClassFlags, 0);
  }
  SUBCASE("the class of strings has no vtable") {
    mono.put(mono.string + mono::kRuntimeInfo, 0);
  }
  CHECK_FALSE(mono.facts());
}

TEST_CASE("an object has its class's name, and its words the names of all fields") {
  MonoHeap mono;
  const auto session = mono.add_class(
      {.name = "Session", .space = "Shop", .parent = mono.object, .instance_bytes = 32});
  const auto admin =
      mono.add_class({.name = "Admin", .space = "", .parent = session, .instance_bytes = 40});
  const auto cursor =
      mono.add_class({.name = "Cursor", .space = "", .parent = session, .nested_in = admin});
  mono.set_fields(session, {{"Count", 0, mono.type_of(0, 0x08, 0x50)},  // a constant
                            {"<User>k__BackingField", 16, mono.type_of(mono.string, mono::kString)},
                            {"Visits", 28, mono.type_of(0, 0x08)}});
  mono.set_fields(admin, {{"_log", 32, mono.type_of(mono.object, mono::kClass)}});
  for (const auto one : {session, admin, cursor}) mono.add_vtable(one);
  const auto one = mono.instance(session, 32);
  const auto other = mono.instance(admin, 48);
  const auto nested = mono.instance(cursor, 16);
  mono.put(other + 16, one);
  mono.put(other + 32, nested);
  mono.heap.join();
  CHECK(mono.type_at(one) == "Shop.Session");
  CHECK(mono.type_at(other) == "Admin");
  CHECK(mono.type_at(nested) == "Admin.Cursor");
  CHECK(mono.keys_at(other) == "User _log");
}

TEST_CASE("only a vtable that its class lists gives a name") {
  MonoHeap mono;
  const auto session = mono.add_class({.name = "Session", .parent = mono.object});
  mono.add_vtable(session);
  const auto object = mono.instance(session, 32);
  const auto small = mono.instance(session, 32);
  SUBCASE("the class lists another one") {
    mono.put(mono.vtables.at(session) - 0, session);
    mono.put(object, mono.room(0x50));
    mono.put(small, 0x1234);
  }
  SUBCASE("the class has a name that is not text") {
    mono.put(session + mono::kName, mono.text("a\x1b[1m"));
  }
  SUBCASE("its objects are larger") {
    mono.put(session + 0x18, std::uint64_t{48} << 32);
  }
  mono.heap.join();
  CHECK(mono.type_at(object) == "(unknown)");
  CHECK(mono.type_at(small) == "(unknown)");
}

TEST_CASE("the arguments of a generic class follow the names that have parameters") {
  MonoHeap mono;
  const auto table = mono.add_class({.name = "Table`2", .space = "Util", .parent = mono.object});
  const auto entry = mono.add_class({.name = "Entry",
                                     .space = "",
                                     .parent = mono.object,
                                     .code = mono::kGeneric,
                                     .nested_in = table});
  const auto arguments = mono.room(24);
  mono.put(arguments, std::uint64_t{2} << 32);
  mono.put(arguments + 8, mono.type_of(0, 0x08));
  const auto vector = mono.type_of(mono.string, mono::kVector);
  mono.put(arguments + 16, vector);
  const auto generic = mono.room(40);
  mono.put(generic + 8, arguments);
  mono.put(generic + 32, entry);
  mono.put(entry + mono::kType, generic);
  mono.add_vtable(entry);
  const auto object = mono.instance(entry, 32);
  SUBCASE("all are known") {
    mono.heap.join();
    CHECK(mono.type_at(object) == "Util.Table<System.Int32, System.String[]>.Entry");
  }
  SUBCASE("one is not, so the class's own name stays") {
    mono.put(vector + 8, std::uint64_t{0x13} << 16);
    mono.heap.join();
    CHECK(mono.type_at(object) == "Util.Table`2.Entry");
  }
}

TEST_CASE("an array is named after its elements, and so are references in structures in it") {
  MonoHeap mono;
  const auto pair = mono.add_class({.name = "Pair",
                                    .space = "",
                                    .parent = mono.value_type,
                                    .code = mono::kValueType,
                                    .instance_bytes = 32,
                                    .is_value_type = true});
  mono.set_fields(pair, {{"key", 16, mono.type_of(mono.string, mono::kString)},
                         {"value", 24, mono.type_of(mono.object, mono::kObject)}});
  const auto pairs = mono.add_class(
      {.name = "Pair[]", .instance_bytes = 32, .element = pair, .element_bytes = 16});
  const auto strings = mono.add_class(
      {.name = "String[]", .instance_bytes = 32, .element = mono.string, .element_bytes = 8});
  mono.add_vtable(pairs);
  mono.add_vtable(strings);
  const auto text = mono.instance(mono.string, 32, heap::kAtomic);
  const auto array = mono.instance(pairs, 64);
  mono.put(array + 32, text);
  mono.put(array + 48 + 8, text);
  const auto list = mono.instance(strings, 48);
  mono.put(list + 40, text);
  mono.heap.join();
  CHECK(mono.type_at(array) == "Pair[]");
  CHECK(mono.keys_at(array) == "[0].key [1].value");
  CHECK(mono.type_at(list) == "System.String[]");
  CHECK(mono.keys_at(list) == "[1]");
}

TEST_CASE("a string's text is its value, in UTF-8, as far as its length says") {
  MonoHeap mono;
  mono.heap.values = 100;
  std::u16string text = u"Zoë €😀";
  std::string expected = "Zoë €😀";
  SUBCASE("all of it") {}
  SUBCASE("with half a character") {
    text.back() = u'x';
    expected = "Zoë €�x";
  }
  SUBCASE("only a part of what is there") {
    text.resize(3);
    expected = "Zoë";
  }
  const auto string = mono.instance(mono.string, 48, heap::kAtomic);
  mono.heap.fake.put(RemoteAddr{string + 0x10}, static_cast<std::uint32_t>(text.size()));
  text.resize(7, u'?');
  for (std::size_t i = 0; i < text.size(); ++i) {
    mono.heap.fake.put(RemoteAddr{string + 0x14 + i * 2}, text[i]);
  }
  mono.heap.join();
  std::vector<std::string> found;
  for (const auto& piece : mono.heap.snapshot.values) {
    for (const auto& value : piece.values) found.emplace_back(piece.text_of(value));
  }
  CHECK(found == std::vector<std::string>{"", expected});  // the first one is String.Empty
}

TEST_CASE("static fields are found through the list of the domain's vtables") {
  MonoHeap mono;
  const auto store = mono.add_class({.name = "Store", .space = "Shop", .parent = mono.object});
  mono.set_fields(store, {{"All", 8, mono.type_of(mono.object, mono::kClass, 0x16)},
                          {"name", 8, mono.type_of(mono.object, mono::kClass)}});
  const auto fields = mono.add_vtable(store, 16);
  const auto session = mono.add_class({.name = "Session", .space = "Shop", .parent = mono.object});
  mono.add_vtable(session);
  const auto one = mono.instance(session, 32);
  mono.put(fields + 8, one);
  SUBCASE("which is recognised") {
    mono.list_vtables();
    mono.heap.join();
    CHECK(mono.type_at(fields) == "(static fields of Shop.Store)");
    CHECK(mono.keys_at(fields) == "All");
  }
  SUBCASE("and without it have no name") {
    mono.heap.join();
    CHECK(mono.type_at(fields) == "(unknown uncollectable)");
  }
  SUBCASE("unless they are larger than their memory") {
    mono.list_vtables();
    mono.put(store + mono::kElementBytes, 80);
    mono.heap.join();
    CHECK(mono.type_at(fields) == "(unknown uncollectable)");
  }
}

}  // namespace
}  // namespace heapattach
