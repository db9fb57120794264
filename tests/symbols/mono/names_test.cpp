#include "symbols/mono/names.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "symbols/mono/classes.h"
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

TEST_CASE("what a class has in common in all domains is read once") {
  MonoHeap mono;
  const auto session = mono.add_class(
      {.name = "Session", .space = "Shop", .parent = mono.object, .instance_bytes = 32});
  mono.set_fields(session, {{"Count", 16, mono.type_of(0, 0x08)},
                            {"User", 24, mono.type_of(mono.string, mono::kString)}});
  mono.add_vtable(session);
  const auto other = mono.room(MonoHeap::kMethods + 8);
  const auto other_domain = mono.room(8);
  mono.put(other, session);
  mono.put(other + 0x10, other_domain);
  std::size_t reads = 0;
  const auto read = [&](std::uint64_t at) -> std::optional<std::uint64_t> {
    ++reads;
    const auto word = mono.heap.fake.memory().read_as<std::uint64_t>(RemoteAddr{at});
    return word ? std::optional(*word) : std::nullopt;
  };
  mono.put(read(session + mono::kRuntimeInfo).value() + 8, other);
  const mono::Facts facts = mono.facts().value();
  mono::ClassReader classes(facts, read);
  const mono::Class* const first = classes.of_first_word(mono.vtables.at(session));
  REQUIRE(first != nullptr);
  reads = 0;
  const mono::Class* const second = classes.of_first_word(other);
  REQUIRE(second != nullptr);
  CHECK(reads < 10);
  CHECK(second->name == first->name);
  CHECK(second->fields.size() == 2);
  CHECK(first->domain == mono.domain);
  CHECK(second->domain == other_domain);
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

TEST_CASE("numbers of an object are its values") {
  MonoHeap mono;
  mono.heap.values = 100;
  const auto state = mono.add_class({.name = "State",
                                     .space = "Shop",
                                     .parent = mono.enumeration,
                                     .code = mono::kValueType,
                                     .instance_bytes = 17,
                                     .is_value_type = true});
  mono.set_fields(state, {{"value__", 16, mono.type_of(0, 0x05)}});
  const auto decimal = mono.add_class({.name = "Decimal",
                                       .parent = mono.value_type,
                                       .code = mono::kValueType,
                                       .instance_bytes = 32,
                                       .is_value_type = true});
  const auto part = mono.type_of(0, 0x08);
  mono.set_fields(decimal,
                  {{"flags", 16, part}, {"hi", 20, part}, {"lo", 24, part}, {"mid", 28, part}});
  const auto order = mono.add_class(
      {.name = "Order", .space = "Shop", .parent = mono.object, .instance_bytes = 64});
  mono.set_fields(order, {{"Total", 16, mono.type_of(0, 0x08)},
                          {"Rate", 20, mono.type_of(0, 0x0c)},
                          {"Id", 24, mono.type_of(0, 0x0b)},
                          {"IsPaid", 32, mono.type_of(0, 0x02)},
                          {"Grade", 34, mono.type_of(0, 0x03)},
                          {"State", 36, mono.type_of(state, mono::kValueType)},
                          {"Amount", 40, mono.type_of(decimal, mono::kValueType)},
                          {"Name", 56, mono.type_of(mono.string, mono::kString)},
                          {"Outside", 64, mono.type_of(0, 0x0a)}});
  mono.add_vtable(order);
  const RemoteAddr one{mono.instance(order, 64)};
  auto& fake = mono.heap.fake;
  fake.put(one + 16, std::int32_t{-7});
  fake.put(one + 20, 2.5F);
  fake.put(one + 24, ~std::uint64_t{0});
  fake.put(one + 32, std::uint8_t{1});
  fake.put(one + 34, char16_t{0xe9});
  fake.put(one + 36, std::uint8_t{200});
  fake.put(one + 40, std::uint32_t{0x80020000});
  fake.put(one + 44, std::uint32_t{0});
  fake.put(one + 48, std::uint32_t{5});
  fake.put(one + 52, std::uint32_t{0});
  mono.heap.join();
  std::vector<std::string> found;
  const auto& paths = mono.heap.row_at(one).value_paths;
  for (const auto& piece : mono.heap.snapshot.values) {
    for (const auto& value : piece.of(static_cast<std::uint32_t>(mono.heap.index_of(one)))) {
      found.push_back(paths.at(value.path) + "=" + std::string(piece.text_of(value)));
    }
  }
  CHECK(found == std::vector<std::string>{"Total=-7", "Rate=2.5", "Id=18446744073709551615",
                                          "IsPaid=true", "Grade=é", "State=200", "Amount=-0.05"});
  const auto& fields = mono.heap.row_at(one).fields;
  CHECK(fields.size() == 8);
  CHECK(std::none_of(fields.begin(), fields.end(),
                     [](const auto& field) { return field.is_unread; }));
}

TEST_CASE("a delegate has the name of its method") {
  MonoHeap mono;
  const auto base =
      mono.add_class({.name = "Delegate", .parent = mono.object, .instance_bytes = 120});
  const auto multicast =
      mono.add_class({.name = "MulticastDelegate", .parent = base, .instance_bytes = 128});
  const auto action =
      mono.add_class({.name = "Action", .parent = multicast, .instance_bytes = 128});
  const auto store = mono.add_class({.name = "Store", .space = "Shop", .parent = mono.object});
  mono.set_fields(base, {{"method", 40, mono.type_of(0, 0x18)}});
  mono.set_fields(multicast, {{"delegates", 120, mono.type_of(base, mono::kVector)}});
  mono.add_vtable(action);
  const auto method = mono.room(40);
  mono.put(method, std::uint64_t{0x06000001} << 32);
  mono.put(method + 8, store);
  mono.put(method + 24, mono.text("Refresh"));
  const auto one = mono.instance(action, 128);
  mono.put(one + 40, method);
  SUBCASE("which it calls") {
    mono.heap.join();
    CHECK(mono.type_at(one) == "System.Action (Shop.Store.Refresh)");
  }
  SUBCASE("and says how many others are combined with it") {
    const auto list = mono.room(64);
    mono.put(list + mono::kArrayLength, 3);
    mono.put(list + mono::kArrayElements, one);
    const auto both = mono.instance(action, 128);
    mono.put(both + 120, list);
    mono.heap.join();
    CHECK(mono.type_at(both) == "System.Action (Shop.Store.Refresh and 2 more)");
  }
  SUBCASE("unless that is not one") {
    mono.put(method, 1);
    mono.heap.join();
    CHECK(mono.type_at(one) == "System.Action");
  }
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
  SUBCASE("with the name of the domain, if it is not the first one") {
    mono.list_vtables();
    mono.put(mono.domain + 0xf8, mono.text("tests"));
    mono.first_domain = mono.domain + 0x1000;
    mono.heap.join();
    CHECK(mono.type_at(fields) == "(static fields of Shop.Store in domain \"tests\")");
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

TEST_CASE("what a thread has of static fields of its own is known by the domain's table of them") {
  MonoHeap mono;
  const auto thread =
      mono.add_class({.name = "InternalThread", .parent = mono.object, .instance_bytes = 64});
  mono.add_vtable(thread);
  mono.threads = mono::ThreadClass{.vtable = mono.vtables.at(thread),
                                   .name = 24,
                                   .name_length = 32,
                                   .managed_id = 36,
                                   .statics = 40};
  const auto job = mono.add_class({.name = "Job", .space = "Shop", .parent = mono.object});
  mono.add_vtable(job);
  const auto own = mono.add_class({.name = "Own", .space = "Shop", .parent = mono.object});
  const auto is_static = mono.type_of(job, mono::kClass, 0x16);
  mono.set_fields(own, {{"Current", mono::kOfThread, is_static},
                        {"Of", mono::kOfThread, is_static},
                        {"Next", mono::kOfThread, is_static}});
  const auto field = [&](std::uint64_t number) {
    return mono.heap.fake.memory().read_as<std::uint64_t>(RemoteAddr{own + mono::kFields}).value() +
           number * mono::kFieldBytes;
  };
  // The last one is in the second chunk, the one before of a context.
  const auto table = mono.room(32);
  const auto slots = mono.room(16);
  const auto last = mono.room(24);
  const auto context = mono.room(24);
  const auto first = mono.room(24);
  mono.put(mono.domain + 0x80, table);
  mono.put(table + 16, slots);
  mono.put(table + 24, std::uint64_t{3} << 32 | 2);
  mono.put(slots, first);
  mono.put(slots + 8, last);
  const auto entry = [&](std::uint64_t at, std::uint64_t of, std::uint64_t place,
                         std::uint64_t next) {
    mono.put(at, of);
    mono.put(at + 8, place);
    mono.put(at + 16, next);
  };
  entry(first, field(0), 0x48 << 6, context);
  entry(context, field(1), 0x8000'0000 | 0x58 << 6, 0);
  entry(last, field(2), 0x8 << 6 | 1, 0);
  const auto one = mono.instance(thread, 64);
  const auto chunk = mono.heap.object(1024, heap::kUncollectable).value;
  const auto second = mono.heap.object(4096, heap::kUncollectable).value;
  mono.put(one + 40, chunk);
  mono.put(chunk, chunk);
  mono.put(chunk + 8, second);
  mono.put(chunk + 0x48, mono.instance(job, 16));
  mono.put(second + 8, mono.instance(job, 16));
  mono.put(one + 32, std::uint64_t{5} << 32 | 6);
  const auto name = mono.text("worker");
  SUBCASE("with the thread's name") {
    mono.put(one + 24, name);
    mono.heap.join();
    CHECK(mono.type_at(chunk) == "(static fields of thread \"worker\")");
    CHECK(mono.type_at(second) == "(static fields of thread \"worker\")");
    CHECK(mono.keys_at(chunk) == "+0 +8 Shop.Own.Current");  // the chunks, and then the field
    CHECK(mono.keys_at(second) == "Shop.Own.Next");
  }
  SUBCASE("or its number") {
    mono.heap.join();
    CHECK(mono.type_at(chunk) == "(static fields of managed thread 5)");
  }
  SUBCASE("not if one of its entries is none of a field") {
    mono.put(last, field(2) + 8);
    mono.heap.join();
    CHECK(mono.keys_at(chunk) == "+0 +8 +72");
  }
  SUBCASE("not if there are more entries than it says") {
    mono.put(first + 16, first);
    mono.heap.join();
    CHECK(mono.keys_at(chunk) == "+0 +8 +72");
  }
  SUBCASE("nor if the first chunk does not begin with its own address") {
    mono.put(chunk, chunk + 8);
    mono.heap.join();
    CHECK(mono.type_at(chunk) == "(unknown uncollectable)");
  }
}

}  // namespace
}  // namespace heapattach
