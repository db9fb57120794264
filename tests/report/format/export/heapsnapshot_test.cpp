#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "report/format/export/formats.h"
#include "report/format/export/heapsnapshot_names.h"
#include "report/format/export/heapsnapshot_objects.h"
#include "tests/support/memory_sink.h"
#include "tests/support/small_snapshot.h"

namespace heapattach::snapshot {

namespace {

std::string name_of(const HeapsnapshotEdgeNames& names,
                    const HeapsnapshotStrings& strings,
                    std::uint64_t offset) {
  const auto name = names.of(offset);
  return name.is_element ? std::to_string(name.number) : strings.all().at(name.number);
}

HeapsnapshotIds ids_of(const std::vector<std::uint64_t>& addresses) {
  SnapshotBuilder build;
  const auto type = build.type("A");
  for (const std::uint64_t address : addresses) build.object(address, type, 16);
  return HeapsnapshotIds(build.snapshot);
}

}  // namespace

TEST_CASE("the heapsnapshot of one object held by one variable") {
  SnapshotBuilder build;
  build.object(0x7f0000001010, build.type("A"), 32);
  Root root;
  root.symbol = "CACHE";
  build.snapshot.roots.push_back(root);
  MemorySink sink;
  REQUIRE(find_format("heapsnapshot")->snapshot(build.snapshot, sink, {}));
  const std::size_t nodes = sink.text.find("\"nodes\"");
  const std::size_t strings = sink.text.find("\"strings\"");
  REQUIRE(strings != std::string::npos);
  CHECK(sink.text.find("\"node_count\":4,\"edge_count\":3,") < nodes);
  CHECK(sink.text.substr(nodes, strings - nodes) ==
        "\"nodes\":[9,1,2,0,1,0,0\n"
        ",9,515,4,0,1,0,0\n"
        ",9,516,6,0,1,0,0\n"
        ",3,514,515,32,0,0,0\n"
        "],\n"
        "\"edges\":[1,1,7\n"
        ",1,0,14\n"
        ",2,517,21\n"
        "],\n");
  CHECK(sink.text.ends_with(
      "\"+4088\",\n\"A\",\n\"(GC roots)\",\n\"(static data)\",\n\"CACHE\"]}\n"));
}

TEST_CASE("of two heaps, malloc's objects are native in a heapsnapshot") {
  SnapshotBuilder build;
  const auto type = build.type("A");
  build.object(0x7f0000001010, type, 32);
  build.object(0x7f0000002010, type, 48);
  build.snapshot.objects[1].heap = 1;
  MemorySink sink;
  REQUIRE(find_format("heapsnapshot")->snapshot(build.snapshot, sink, {}));
  CHECK(sink.text.find("\n,3,514,515,32,") != std::string::npos);
  CHECK(sink.text.find("\n,8,514,") != std::string::npos);
}

TEST_CASE("an edge of a heapsnapshot is named after its field, its element or its offset") {
  Type type;
  type.paths = {{16, "@size"}, {8, "@name"}};
  type.elements = {32, 24, "", {{0, ""}, {8, "key"}}};
  HeapsnapshotStrings strings;
  const HeapsnapshotEdgeNames names(type, strings);
  CHECK(name_of(names, strings, 8) == "@name");
  CHECK(name_of(names, strings, 16) == "@size");
  CHECK(name_of(names, strings, 24) == "+24");
  CHECK(name_of(names, strings, 32 + 24 * 1000) == "1000");
  CHECK(name_of(names, strings, 40 + 24 * 7) == "[].key");
  CHECK(name_of(names, strings, 48) == "+48");
  CHECK(name_of(names, strings, 48 + 24 * 1000) == std::to_string((48 + 24 * 1000) / 8));
}

TEST_CASE("an edge of a heapsnapshot has the same name from a saved snapshot") {
  Type type;
  type.keys = {
      {"@name", "", 0}, {"@size", "", 0}, {"+", "", 8}, {"items[", "]", 1}, {"[", "].key", 1}};
  HeapsnapshotStrings strings;
  const HeapsnapshotEdgeNames names(type, strings);
  const auto of_word = [&](std::uint64_t word) { return name_of(names, strings, 8 * word); };
  CHECK(of_word(0) == "@name");
  CHECK(of_word(1) == "@size");
  CHECK(of_word(2 + 3 * 3 + 0) == "+24");
  CHECK(of_word(2 + 3 * 1000 + 0) == "1000");
  CHECK(of_word(2 + 3 * 7 + 1) == "7");
  CHECK(of_word(2 + 3 * 7 + 2) == "[].key");
}

TEST_CASE("an object's id in a heapsnapshot follows from its address, wherever the heap is") {
  const auto one = ids_of({0x7f0000001000, 0x7f0000002000});
  const auto other = ids_of({0x7effffff0000, 0x7f0000002000, 0x7f0000003000});
  CHECK(one.are_stable());
  CHECK(one.of(0x7f0000002000, 1) == other.of(0x7f0000002000, 1));
  CHECK(one.of(0x7f0000001000, 0) != one.of(0x7f0000002000, 1));
  CHECK(one.of(0x7f0000001000, 0) % 2 == 1);
}

TEST_CASE("ids of a heapsnapshot never collide") {
  SUBCASE("two stretches of a heap that fold to the same numbers") {
    const auto ids = ids_of({0x550000001000, 0x7f0000001000});
    CHECK_FALSE(ids.are_stable());
    CHECK(ids.of(0x550000001000, 0) != ids.of(0x7f0000001000, 1));
  }
  SUBCASE("addresses that no collector uses") {
    const auto ids = ids_of({0x7f0000001000, 0x7f0000001008});
    CHECK_FALSE(ids.are_stable());
    CHECK(ids.of(0x7f0000001000, 0) != ids.of(0x7f0000001008, 1));
  }
}

TEST_CASE("an object too large for 32 bits becomes several nodes whose sizes add up") {
  SnapshotBuilder build;
  const std::uint64_t bytes = (std::uint64_t{5} << 30) + 48;
  build.object(0x7f0000001000, build.type("Large"), bytes);
  build.object(0x7f0000000000 + bytes + 4096, build.type("B"), 16, {{8, 0}});
  const HeapsnapshotObjects objects(build.snapshot);
  REQUIRE(objects.large().size() == 1);
  CHECK(objects.edges() == 1 + objects.pieces());
  std::uint64_t sum = HeapsnapshotObjects::kMostBytes;
  for (std::uint64_t piece = 0; piece < objects.pieces(); ++piece) {
    CHECK(objects.large()[0].piece_bytes(piece) <= std::numeric_limits<std::uint32_t>::max());
    sum += objects.large()[0].piece_bytes(piece);
  }
  CHECK(sum == bytes);
  MemorySink sink;
  REQUIRE(find_format("heapsnapshot")->snapshot(build.snapshot, sink, {}));
  CHECK(sink.text.find("(rest of Large)") != std::string::npos);
}

}  // namespace heapattach::snapshot
