#include "report/trace/object_types.h"

#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace heapattach::trace {

namespace {

constexpr std::uint32_t kStringId = 1;

ObjectTypes crystal_types() {
  return {kStringId, cxx::VtableNames(std::vector<Symbol>()), {}};
}

// The bytes of a String. The memory after its text is filled with `after`.
std::vector<std::byte> string_bytes(const std::string& text,
                                    std::uint32_t length,
                                    std::size_t room,
                                    char after = 0) {
  std::vector<std::byte> bytes(room, static_cast<std::byte>(after));
  const std::uint32_t header[] = {kStringId, static_cast<std::uint32_t>(text.size()), length};
  std::memcpy(bytes.data(), header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, text.c_str(), text.size() + 1);
  return bytes;
}

std::string name_of(const ObjectTypes& types,
                    std::uint64_t bytes,
                    const std::vector<std::byte>& contents,
                    std::uint32_t before = 0) {
  const auto found = types.type_of({bytes, before}, contents);
  return found ? found->name : "";
}

std::vector<std::byte> numbers(const std::vector<std::uint32_t>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("an object is a String if all of it fits") {
  const ObjectTypes types = crystal_types();
  CHECK_FALSE(types.is_empty());
  CHECK(types.only_atomic());
  CHECK(name_of(types, 18, string_bytes("Hello", 5, 18)) == "String");
  CHECK(name_of(types, 18, string_bytes("Hello", 0, 18)) == "String");
  CHECK(name_of(types, 13, string_bytes("", 0, 13)) == "String");
  CHECK(name_of(types, 18, string_bytes("h\xc3\xa9ll", 4, 18)) == "String");
  // The String of a String::Builder has more room.
  CHECK(name_of(types, 77, string_bytes("a longer text", 0, 77, 'x')) == "String");
}

TEST_CASE("what only begins like a String has no type") {
  const ObjectTypes types = crystal_types();
  CHECK(name_of(types, 18, string_bytes("Hello", 4, 18)) == "");
  CHECK(name_of(types, 40, string_bytes("Hello", 5, 40)) == "");
  CHECK(name_of(types, 17, string_bytes("Hello", 5, 18)) == "");
  CHECK(name_of(types, 18, string_bytes("He\x01lo", 5, 18)) == "");
  CHECK(name_of(types, 18, string_bytes("H\xff\xfflo", 0, 18)) == "");
  CHECK(name_of(types, 16, numbers({1, 3, 2, 5})) == "");
  CHECK(name_of(types, 16, numbers({1, 3, 0, 5})) == "");
  CHECK(name_of(types, 16, numbers({1, 1, 1, 65})) == "");
  CHECK(name_of(types, 32, numbers({1, 8, 0, 7, 9, 0, 0, 0})) == "");
  CHECK(name_of(types, 8, numbers({1, 0})) == "");
  CHECK(name_of(types, 18, string_bytes("Hello", 5, 18)).empty() == false);
}

TEST_CASE("what an object began with when it was allocated is not its own") {
  const ObjectTypes types = crystal_types();
  CHECK(name_of(types, 18, string_bytes("Hello", 5, 18), 0x7f00) == "String");
  CHECK(name_of(types, 18, string_bytes("Hello", 5, 18), kStringId) == "");
}

TEST_CASE("a long String is known by its beginning and its last byte") {
  const ObjectTypes types = crystal_types();
  auto bytes = string_bytes(std::string(1000, 'x'), 0, 1013);
  bytes.resize(types.needed(1013));
  CHECK(bytes.size() < 1000);
  const auto found = types.type_of({1013, 0}, bytes);
  REQUIRE(found);
  CHECK(found->name == "String");
  CHECK(found->end == 1012);
}

TEST_CASE("an object that points to a vtable is of that class, or of one that is derived from it") {
  Symbol shape;
  shape.name = "_ZTV5Shape";
  shape.address = RemoteAddr{0x5000};
  shape.bytes = 40;
  Symbol circle = shape;
  circle.name = "_ZTV6Circle";
  circle.address = RemoteAddr{0x6000};
  const ObjectTypes types(std::nullopt, cxx::VtableNames(std::vector<Symbol>{shape, circle}),
                          {"Shape"});
  CHECK_FALSE(types.only_atomic());
  CHECK(types.needed(4096) == 8);
  const auto look = [&](std::uint32_t word, std::uint32_t before) {
    return types.type_of({24, before}, numbers({word, 0}));
  };
  REQUIRE(look(0x6010, 0));
  CHECK(look(0x6010, 0)->name == "Circle");
  CHECK_FALSE(look(0x6010, 0)->may_be_base);
  REQUIRE(look(0x5010, 0));
  CHECK(look(0x5010, 0)->may_be_base);
  CHECK_FALSE(look(0x6010, 0x6010));
  CHECK_FALSE(look(0x6000, 0));
  CHECK_FALSE(look(0, 0));
  CHECK_FALSE(types.type_of({4, 0}, numbers({0x6010})));
}

}  // namespace heapattach::trace
