#include <string>

#include <doctest/doctest.h>

#include "report/collect/join_values.h"
#include "report/format/write/json_values.h"
#include "tests/support/typed_heap.h"

namespace heapattach::snapshot {
namespace {

// The values in the record of the object at `at`, with "!" before them if some values were lost.
std::string values_at(TypedHeap& heap, RemoteAddr at) {
  std::string text;
  const auto index = static_cast<ObjectIndex>(heap.index_of(at));
  const bool is_lossy = append_json_values(text, heap.snapshot, index);
  return is_lossy ? "!" + text : text;
}

struct Strings : TypedHeap {
  Strings() { add_class(1, "String", 12, true); }
  RemoteAddr text(const std::string& value, std::uint64_t bytes) {
    const RemoteAddr at = instance(1, bytes, heap::kAtomic);
    fake.put(at + 4, static_cast<std::uint32_t>(value.size()));
    for (std::size_t i = 0; i < value.size(); ++i) fake.put(at + 12 + i, value[i]);
    return at;
  }
};

TEST_CASE("a String's text is its value, cut between characters and marked if it was longer") {
  Strings heap;
  const RemoteAddr a = heap.text("user-1", 32);
  const RemoteAddr umlauts = heap.text("\u00e4\u00f6\u00fc", 48);
  const RemoteAddr broken = heap.text("a\xff", 32);
  heap.values = 7;
  heap.join();
  CHECK(values_at(heap, a) == R"(,"value":"user-1")");
  CHECK(values_at(heap, broken).starts_with("!,\"value\":\"a"));
  heap.values = 5;
  heap.join();
  CHECK(values_at(heap, a) == R"(,"value":"user-","cut":true)");
  CHECK(values_at(heap, umlauts) == ",\"value\":\"\u00e4\u00f6\",\"cut\":true");
}

TEST_CASE("no value appears unless requested") {
  Strings heap;
  (void)heap.text("secret", 32);
  heap.join();
  CHECK(heap.snapshot.values.empty());
}

TEST_CASE("fields show numbers, booleans, and enumerations and symbols by name") {
  TypedHeap heap;
  auto& build = heap.build;
  const auto number = build.number("int", 4);
  const auto flag = build.number("bool", 1);
  build.model[flag].encoding = types::Encoding::Boolean;
  const auto real = build.number("double", 8);
  build.model[real].encoding = types::Encoding::Float;
  const auto state = build.number("enum state", 4);
  build.model[state].shape = types::Shape::Enumeration;
  build.model[state].enumerators = {{"OPEN", 1}, {"CLOSED", -1}};
  const auto order = build.structure("struct order", 32,
                                     {{"count", 0, number},
                                      {"is_paid", 4, flag},
                                      {"state", 8, state},
                                      {"price", 16, real},
                                      {"low", 24, number, false, 3, 0},
                                      {"high", 24, number, false, 3, 3}});
  const RemoteAddr at = heap.object(48);
  heap.fake.put(at, std::int32_t{-3});
  heap.fake.put(at + 4, std::uint8_t{1});
  heap.fake.put(at + 8, std::int32_t{-1});
  heap.fake.put(at + 16, 1.5);
  heap.fake.put(at + 24, std::uint32_t{0b011'010});
  heap.global("order", build.pointer(order), 0, at);
  heap.values = 64;
  heap.join();
  CHECK(values_at(heap, at) == R"(,"values":{"count":-3,"is_paid":true,"state":"CLOSED",)"
                               R"("price":1.5,"low":2,"high":3})");
}

TEST_CASE("an instance of a single number has it as its value") {
  TypedHeap heap;
  const auto number = heap.build.number("Int32", 4);
  heap.build.klass("Box(Int32)", 8, {{"@object", 4, number}});
  heap.add_class(9, "Box(Int32)", 8, true);
  const RemoteAddr box = heap.instance(9, 16, heap::kAtomic);
  heap.fake.put(box + 4, std::int32_t{42});
  heap.values = 64;
  heap.join();
  CHECK(values_at(heap, box) == R"(,"value":42)");
}

TEST_CASE(
    "a std::string is one value, in place or elsewhere, and text in a buffer ends where the string "
    "does") {
  TypedHeap heap;
  auto& build = heap.build;
  const auto letter = build.number("char", 1);
  const auto number = build.number("unsigned long", 8);
  const auto hider = build.structure("_Alloc_hider", 8, {{"_M_p", 0, build.pointer(letter)}});
  const auto string = build.structure(
      "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", 32,
      {{"_M_dataplus", 0, hider}, {"_M_string_length", 8, number}, {"_M_local_buf", 16, number}});
  const auto user = build.structure("User", 72, {{"name", 0, string}, {"mail", 32, string}});
  const RemoteAddr at = heap.object(80);
  const RemoteAddr far = heap.object(64, heap::kAtomic);
  heap.fake.put(at, at + 16);
  heap.fake.put(at + 8, std::uint64_t{3});
  heap.fake.put(at + 16, std::array<char, 4>{'b', 'o', 'b', 0});
  heap.fake.put(at + 32, far);
  heap.fake.put(at + 40, std::uint64_t{2});
  heap.fake.put(far, std::array<char, 4>{'a', '@', 0, 'x'});
  heap.global("user", build.pointer(user), 0, at);
  heap.values = 64;
  heap.join();
  CHECK(values_at(heap, at) == R"(,"values":{"name":"bob","mail":"a@"})");
  CHECK(values_at(heap, far) == R"(,"value":"a@")");

  // A NUL may be part of the text: the string's length counts if there is a NUL at its end.
  heap.fake.put(far, std::array<char, 8>{'a', 0, 'b', 0, 'x', 0});
  heap.fake.put(at + 40, std::uint64_t{3});
  heap.join();
  CHECK(values_at(heap, far) == R"(,"value":"a\u0000b")");
  heap.fake.put(at + 40, std::uint64_t{5000});
  heap.join();
  CHECK(values_at(heap, far) == R"(,"value":"a")");
}

TEST_CASE("a false length shows no more than exists") {
  Strings heap;
  const RemoteAddr at = heap.text("short", 32);
  heap.fake.put(at + 4, std::uint32_t{19});
  heap.values = 64;
  heap.join();
  CHECK(values_at(heap, at).size() < 200);
  TypedHeap other;
  const auto wide = other.build.number("wide", 64);
  const auto type = other.build.structure("struct wide", 64, {{"wide", 0, wide}});
  const RemoteAddr object = other.object(80);
  other.global("wide", other.build.pointer(type), 0, object);
  other.values = 64;
  other.join();
  CHECK(values_at(other, object).empty());
}

}  // namespace
}  // namespace heapattach::snapshot
