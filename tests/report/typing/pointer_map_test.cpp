#include "report/typing/pointer_map.h"

#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/type_model_builder.h"

namespace heapattach::snapshot {
namespace {

// The words of a map, by offset: "8 @user, 16? @value". A conservative word has a question mark.
std::string words_of(const PointerMap& map) {
  std::string text;
  for (const PointerWord& word : map.words) {
    text += fmt::format("{}{}{} {}", text.empty() ? "" : ", ", word.offset,
                        word.kind == WordKind::Conservative ? "?" : "", word.path);
  }
  return text;
}

TEST_CASE("numbers are not pointers, and pointers have the names of their members") {
  ModelBuilder build;
  const auto number = build.number("long", 8);
  const auto node = build.structure("struct node", 24);
  const auto pointer = build.pointer(node);
  build.model[node].members = {{"value", 0, number}, {"next", 8, pointer}, {"other", 16, pointer}};
  const PointerMap map = flatten(build.model, node);
  CHECK(words_of(map) == "8 next, 16 other");
  CHECK(map.words[0].type == pointer);
  CHECK(map.words[0].holder == node);
  CHECK(map.bytes == 24);
  CHECK(map.leaves.size() == 3);
}

TEST_CASE("nested structures have paths; bases and unnamed members add nothing to them") {
  ModelBuilder build;
  const auto text = build.number("char", 1);
  const auto pointer = build.pointer(text);
  const auto base = build.structure("Base", 8, {{"name", 0, pointer}});
  const auto point = build.structure("Point", 16, {{"@x", 0, pointer}, {"@next", 8, pointer}});
  const auto all =
      build.structure("All", 40, {{"", 0, base, true}, {"@point", 8, point}, {"", 24, point}});
  CHECK(words_of(flatten(build.model, all)) ==
        "0 name, 8 @point.@x, 16 @point.@next, 24 @x, 32 @next");
}

TEST_CASE("a member inside a base's room keeps its own name") {
  ModelBuilder build;
  const auto pointer = build.pointer(build.number("int", 4));
  const auto left = build.klass("Left", 32, {{"of_left", 8, pointer}});  // with a virtual base
  const auto whole = build.klass("Whole", 32, {{"", 0, left, true}, {"of_whole", 16, pointer}});
  CHECK(words_of(flatten(build.model, whole)) == "8 of_left, 16 of_whole, 24? ");
}

TEST_CASE("a virtual base occurs once, at its offset in the complete class") {
  ModelBuilder build;
  const auto number = build.number("long", 8);
  const auto pointer = build.pointer(number);
  const auto part = build.klass("Part", 16, {{"of_part", 8, pointer}});
  const auto left = build.klass("Left", 32, {{"of_left", 8, pointer}, {"", 16, part, true}});
  build.model[left].members.back().is_virtual_base = true;
  build.model[left].has_virtual_bases = true;
  CHECK(words_of(flatten(build.model, left)) == "8 of_left, 24 of_part");
  const auto whole = build.klass(
      "Whole", 48, {{"", 0, left, true}, {"of_whole", 16, number}, {"", 24, part, true}});
  CHECK(words_of(flatten(build.model, whole)) == "8 of_left, 16? , 24? , 32 of_part, 40? ");
  build.model[whole].members.back().is_virtual_base = true;
  build.model[whole].has_virtual_bases = true;
  CHECK(words_of(flatten(build.model, whole)) == "8 of_left, 32 of_part, 40? ");
  const auto around = build.structure("Around", 40, {{"inner", 8, left}});
  CHECK(words_of(flatten(build.model, around)) == "0? , 16 inner.of_left, 32 inner.of_part");
}

TEST_CASE("the members of a named tuple and of a tuple have the language's names") {
  ModelBuilder build;
  const auto pointer = build.pointer(build.number("int", 4));
  const auto tuple = build.structure("Tuple(A, B)", 16, {{"[0]", 0, pointer}, {"[1]", 8, pointer}});
  const auto named = build.structure("NamedTuple(title: A)", 8, {{"@title", 0, pointer}});
  const auto all = build.klass("All", 32, {{"@pair", 8, tuple}, {"@named", 24, named}});
  CHECK(words_of(flatten(build.model, all)) == "8 @pair[0], 16 @pair[1], 24 @named.title");
}

TEST_CASE("elements of an array of structures are numbered") {
  ModelBuilder build;
  const auto number = build.number("int", 4);
  const auto pointer = build.pointer(number);
  const auto item = build.structure("struct item", 16, {{"id", 0, number}, {"name", 8, pointer}});
  const auto items = build.array(item, 3);
  const auto grid = build.array(build.array(pointer, 2), 2);
  const auto all = build.structure("struct all", 80, {{"items", 0, items}, {"grid", 48, grid}});
  CHECK(words_of(flatten(build.model, all)) ==
        "8 items[0].name, 24 items[1].name, 40 items[2].name, 48 grid[0][0], 56 grid[0][1], "
        "64 grid[1][0], 72 grid[1][1]");
}

TEST_CASE("a union is conservative where any member is a pointer, and the first such names it") {
  ModelBuilder build;
  const auto number = build.number("long", 8);
  const auto pointer = build.pointer(number);
  const auto both = build.structure("struct both", 16, {{"n", 0, number}, {"p", 8, pointer}});
  const auto any = build.any_of("union any", 16,
                                {{"number", 0, number}, {"first", 0, pointer}, {"both", 0, both}});
  const auto all = build.structure("struct all", 24, {{"tag", 0, number}, {"u", 8, any}});
  CHECK(words_of(flatten(build.model, all)) == "8? u.first, 16? u.both.p");
  const auto numbers = build.any_of("union numbers", 8, {{"a", 0, number}, {"b", 0, number}});
  CHECK(words_of(flatten(build.model, numbers)).empty());
}

TEST_CASE("the values of a Crystal union have its own path, and a single pointer its type") {
  ModelBuilder build;
  const auto number = build.number("Int32", 4);
  const auto pointer = build.buffer(build.number("UInt8", 1));
  const auto values =
      build.any_of("(Int32 | Pointer(UInt8)).union", 8, {{"Int32", 0, number}, {"P", 0, pointer}});
  const auto any = build.structure("(Int32 | Pointer(UInt8))", 16,
                                   {{"type_id", 0, number}, {"union", 8, values}});
  const auto all = build.klass("Holder", 24, {{"@any", 8, any}});
  const PointerMap map = flatten(build.model, all);
  CHECK(words_of(map) == "16? @any");
  CHECK(map.words[0].type == pointer);
}

TEST_CASE("undescribed words are conservative") {
  ModelBuilder build;
  const auto number = build.number("int", 4);
  const auto gap = build.opaque("Proc", 16);
  SUBCASE("a member that is opaque") {
    const auto all = build.structure("All", 24, {{"n", 0, number}, {"@block", 8, gap}});
    CHECK(words_of(flatten(build.model, all)) == "8? @block, 16? ");
  }
  SUBCASE("a member that is missing") {
    const auto all = build.structure("All", 32, {{"n", 0, number}, {"m", 24, number}});
    CHECK(words_of(flatten(build.model, all)) == "8? , 16? ");
  }
  SUBCASE("a structure with unknown contents") {
    CHECK(words_of(flatten(build.model, build.structure("All", 16))) == "0? , 8? ");
  }
  SUBCASE("but not the header of a class") {
    CHECK(words_of(flatten(build.model, build.klass("Marker", 8))).empty());
  }
}

TEST_CASE("a function's address may be anything, and a closure's data follows it") {
  ModelBuilder build;
  const auto code = build.opaque("void (*)(void)", 8);
  build.model[code].shape = types::Shape::Code;
  const auto proc = build.structure("Proc(Int32, Nil)", 16);
  const auto all = build.klass("Handler", 32, {{"@code", 8, code}, {"@block", 16, proc}});
  const PointerMap map = flatten(build.model, all);
  CHECK(words_of(map) == "8? @code, 24 @block");
  CHECK(map.words[1].kind == WordKind::Closure);
}

TEST_CASE("what follows an array of as many elements as fit is its tail") {
  ModelBuilder build;
  const auto number = build.number("long", 8);
  const auto pointer = build.pointer(number);
  for (const std::optional<std::uint64_t> count : {std::optional<std::uint64_t>{}, {0}, {1}}) {
    const auto items = build.array(pointer, count);
    const auto all = build.structure("struct all", 8, {{"count", 0, number}, {"items", 8, items}});
    const PointerMap map = flatten(build.model, all);
    REQUIRE(map.tail);
    CHECK(map.tail->offset == 8);
    CHECK(map.tail->path == "items");
    CHECK(map.tail->element == pointer);
  }
}

TEST_CASE("a value in raw storage of libstdc++ is flattened by its own type") {
  ModelBuilder build;
  const auto number = build.number("unsigned char", 1);
  const auto bytes = build.array(number, 16);
  const auto pointer = build.pointer(number);
  build.structure("ns::Item", 16, {{"name", 8, pointer}});
  const auto known =
      build.structure("__gnu_cxx::__aligned_membuf<ns::Item>", 16, {{"_M_storage", 0, bytes}});
  const auto unknown =
      build.structure("__gnu_cxx::__aligned_buffer<ns::Gone>", 16, {{"_M_storage", 0, bytes}});
  const auto node = build.structure("Node", 32, {{"a", 0, known}, {"b", 16, unknown}});
  CHECK(words_of(flatten(build.model, node)) == "0? , 8 a.name, 16? b, 24? ");
}

TEST_CASE("hostile types cost no more than others, and are conservative where they are cut") {
  ModelBuilder build;
  const auto number = build.number("int", 4);
  const auto pointer = build.pointer(number);
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 60;
  SUBCASE("a structure in itself") {
    const auto self = build.structure("Self", 16);
    build.model[self].members = {{"p", 0, pointer}, {"self", 8, self}, {"again", 8, self}};
    CHECK(flatten(build.model, self).known_to < 4096);
  }
  SUBCASE("an array of 2^60 pointers") {
    const PointerMap map = flatten(build.model, build.array(pointer, kHuge));
    CHECK(map.words.size() == kMostWords);
    CHECK(map.known_to == kMostWords * 8);
  }
  SUBCASE("an array of 2^60 numbers") {
    const auto all = build.structure("All", 32, {{"a", 0, build.array(number, kHuge)}});
    CHECK(flatten(build.model, all).words.empty());
  }
  SUBCASE("arrays of arrays of nothing") {
    auto at = build.structure("Empty", 0);
    for (int i = 0; i < 40; ++i) at = build.array(at, kHuge);
    CHECK(flatten(build.model, at).words.empty());
  }
  SUBCASE("a size of 2^63") {
    const auto all = build.structure("All", std::uint64_t{1} << 63, {{"p", 0, pointer}});
    const PointerMap map = flatten(build.model, all);
    CHECK(words_of(map) == "0 p");
    CHECK(map.known_to == 8);
  }
  SUBCASE("an offset of 2^64 - 8") {
    const auto all = build.structure("All", 16, {{"p", ~std::uint64_t{7}, pointer}});
    CHECK(flatten(build.model, all).words.empty());
  }
  SUBCASE("a million members") {
    const auto all = build.structure("All", 8'000'000);
    for (std::uint64_t i = 0; i < 1'000'000; ++i) {
      build.model[all].members.push_back({"m", i * 8, pointer});
    }
    const PointerMap map = flatten(build.model, all);
    CHECK(map.words.size() == kMostWords);
    CHECK(map.known_to == kMostWords * 8);
    CHECK(map.leaves.size() == kMostLeaves);
  }
  SUBCASE("members that do not exist, and one past the end") {
    const auto all = build.structure("All", 16, {{"a", 0, 4711}, {"b", 16, pointer}});
    CHECK(words_of(flatten(build.model, all)) == "0? , 8? ");
    CHECK(flatten(build.model, 4711).words.empty());
  }
  SUBCASE("an unaligned pointer is ignored, as by the collector") {
    const auto all = build.structure("All", 12, {{"a", 0, number}, {"p", 4, pointer}});
    CHECK(words_of(flatten(build.model, all)) == "0? ");  // the offset may be wrong
  }
}

}  // namespace
}  // namespace heapattach::snapshot
