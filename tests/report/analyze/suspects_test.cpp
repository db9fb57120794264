#include "report/analyze/suspects.h"

#include <doctest/doctest.h>

#include "report/analyze/neighbourhood.h"
#include "report/format/write/suspect_formats.h"
#include "report/format/write/text_reports.h"
#include "tests/support/small_snapshot.h"

namespace heapattach {

using snapshot::Snapshot;

namespace {

// LIST holds an array of 100 pages. 50 requests are each held by a stack of its own.
Snapshot pages_and_requests() {
  SnapshotBuilder build;
  const auto array = build.type("Array(Page)");
  const auto buffer = build.type("(buffer of Array(Page))");
  const auto page = build.type("Page");
  const auto request = build.type("Request");
  build.snapshot.types[array].paths = {{8, "@buffer"}};
  build.snapshot.types[buffer].elements = {0, 8, "", {{0, ""}}};
  build.object(0x1000, array, 32, {{8, 1}});
  std::vector<std::pair<std::uint32_t, snapshot::ObjectIndex>> pages;
  for (std::uint32_t i = 0; i < 100; ++i) pages.emplace_back(8 * i, 2 + i);
  build.object(0x2000, buffer, 800, pages);
  for (std::uint32_t i = 0; i < 100; ++i) build.object(0x10000 + 64 * i, page, 64);
  for (std::uint32_t i = 0; i < 50; ++i) build.object(0x20000 + 64 * i, request, 64);
  snapshot::Root root;
  root.symbol = "LIST";
  build.snapshot.roots.push_back(root);
  for (std::uint32_t i = 0; i < 50; ++i) {
    root.kind = snapshot::RootKind::Fiber;
    root.fiber = 0x100 + i;
    root.symbol.clear();
    root.to = 102 + i;
    build.snapshot.roots.push_back(root);
  }
  return build.snapshot;
}

}  // namespace

TEST_CASE("a single suspect and a suspect type are reported, the larger first") {
  const Snapshot snapshot = pages_and_requests();
  const auto suspects = analyze::find_suspects(snapshot);
  REQUIRE(suspects.found.size() == 2);
  const analyze::Suspect& place = suspects.found[0];
  CHECK(place.object == 1);
  CHECK(place.retained_bytes == 7200);
  CHECK(place.root_path_summary == "global LIST → @buffer");
  REQUIRE(place.gathered);
  CHECK(place.gathered->objects == 100);
  CHECK(place.sentence ==
        "one Array(Page) keeps 7232 bytes, 69 % of all live bytes: through 100 Page");
  CHECK(place.named == 0);
  const analyze::Suspect& type = suspects.found[1];
  CHECK(type.is_type);
  CHECK(type.objects == 50);
  CHECK(type.root_path_summary == "stacks of fibers");
  CHECK(type.sentence.find("50 Request that no single object holds") == 0);
  const std::string text = format_suspects_text(snapshot, {suspects}, {});
  CHECK(text.find("100 objects  6400 bytes  Page") != std::string::npos);
  CHECK(format_suspects_json(snapshot, {suspects}).find("\"kind\":\"type\"") != std::string::npos);
}

TEST_CASE("in Ruby, what a constant holds comes before the program's code, which is no leak") {
  SnapshotBuilder build;
  build.snapshot.header.runtime = "ruby";
  const auto of_class = build.type("Class");
  const auto code = build.type("imemo(iseq)");
  const auto array = build.type("Array");
  const auto order = build.type("Order");
  build.object(0x1000, of_class, 6000, {{0, 1}, {8, 52}});  // Object, with the constant KEEP
  std::vector<std::pair<std::uint32_t, snapshot::ObjectIndex>> orders;
  for (std::uint32_t i = 0; i < 50; ++i) orders.emplace_back(8 * i, 2 + i);
  build.object(0x2000, array, 400, orders);
  for (std::uint32_t i = 0; i < 50; ++i) build.object(0x10000 + 64 * i, order, 10);
  std::vector<std::pair<std::uint32_t, snapshot::ObjectIndex>> instructions;
  for (std::uint32_t i = 0; i < 40; ++i) instructions.emplace_back(8 * i, 53 + i);
  build.object(0x20000, of_class, 2000, instructions);
  for (std::uint32_t i = 0; i < 40; ++i) build.object(0x30000 + 256 * i, code, 200);
  snapshot::Root root;
  root.symbol = "vm";
  build.snapshot.roots.push_back(root);
  const auto suspects = analyze::find_suspects(build.snapshot);
  CHECK(suspects.live_bytes == 16'900);
  CHECK(suspects.threshold == 90);  // a tenth of the 900 bytes that are not code
  REQUIRE(suspects.found.size() >= 2);
  CHECK(suspects.found[0].sentence ==
        "one Array keeps 900 bytes, 5 % of all live bytes: through 50 Order");
  for (std::size_t i = 1; i < suspects.found.size(); ++i) {
    CHECK(suspects.found[i].retained_bytes > suspects.live_bytes / 10);
  }
  const std::string text = format_suspects_text(build.snapshot, {suspects}, {});
  CHECK_MESSAGE(text.find("live bytes, or 90 bytes, a tenth of all but code and stacks\n") !=
                    std::string::npos,
                text);
  build.snapshot.header.runtime = "crystal";
  CHECK(analyze::find_suspects(build.snapshot).threshold == 1690);
}

TEST_CASE("in Ruby, what a constant of the program's holds comes before Ruby's own") {
  SnapshotBuilder build;
  build.snapshot.header.runtime = "ruby";
  const auto of_class = build.type("Class");
  const auto of_module = build.type("Module");
  const auto array = build.type("Array");
  const auto table = build.type("Hash");
  const auto text = build.type("String");
  const auto internal = build.type("internal(Array)");
  build.snapshot.types[of_class].paths = {{0, "Object"}, {8, "Gem"}, {16, "KEEP"}, {24, "Store"}};
  build.snapshot.types[of_module].paths = {{8, "@known"}};
  const auto add_texts = [&](std::uint64_t at, std::uint32_t first, std::uint64_t bytes) {
    std::vector<std::pair<std::uint32_t, snapshot::ObjectIndex>> edges;
    for (std::uint32_t i = 0; i < 50; ++i) edges.emplace_back(8 * i, first + i);
    for (std::uint32_t i = 0; i < 50; ++i) build.object(at + 0x1000'0000 + i, text, bytes);
    return edges;
  };
  std::uint64_t bytes_of_own = 40;
  std::uint32_t module_of_own = 8;
  bool is_first = false;
  SUBCASE("of the names of Symbols, and of what rubygems knows") {}
  SUBCASE("but not if that is more than any Ruby has of its own") {
    bytes_of_own = 1 << 20;
    is_first = true;
  }
  SUBCASE("but not if a module of the program's holds more") {
    module_of_own = 24;
    is_first = true;
  }
  const auto kept = add_texts(0x10000, 0, 20);
  const auto known = add_texts(0x20000, 50, bytes_of_own);
  const auto names = add_texts(0x30000, 100, 30);
  build.object(0x1000, of_class, 40, {{0, 150}, {module_of_own, 151}, {16, 153}});
  build.object(0x2000, of_module, 40, {{8, 152}});
  build.object(0x3000, table, 400, known);
  build.object(0x4000, array, 400, kept);
  build.object(0x5000, internal, 40, {{0, 155}});
  build.object(0x6000, internal, 400, names);
  for (const snapshot::ObjectIndex held : {150U, 154U}) {
    snapshot::Root& root = build.snapshot.roots.emplace_back();
    root.symbol = "vm";
    root.to = held;
  }
  const auto suspects = analyze::find_suspects(build.snapshot);
  REQUIRE(!suspects.found.empty());
  const std::string first = suspects.found[0].sentence;
  const bool is_kept = first.find("one Array keeps 1400 bytes") == 0;
  CHECK_MESSAGE(is_kept == !is_first, first);
  CHECK_MESSAGE(first.find("(Ruby's own)") == std::string::npos, first);
  if (is_first) return;
  REQUIRE(suspects.found.size() == 3);
  for (const std::size_t i : {1U, 2U}) {
    const std::string& sentence = suspects.found[i].sentence;
    CHECK_MESSAGE(sentence.ends_with(": through 50 String (Ruby's own)"), sentence);
  }
}

TEST_CASE("objects of unknown types together are not a suspect, but are reported") {
  SnapshotBuilder build;
  const auto unknown = build.type("(unknown atomic)", false);
  for (std::uint32_t i = 0; i < 50; ++i) {
    build.object(0x1000 + 64 * i, unknown, 64);
    build.snapshot.roots.emplace_back().to = i;
  }
  const auto suspects = analyze::find_suspects(build.snapshot);
  CHECK(suspects.found.empty());
  CHECK(suspects.untyped_bytes == 3200);
  CHECK(format_suspects_text(build.snapshot, {suspects}, {}) ==
        "nothing retains a tenth of the 3200 live bytes\n"
        "objects of unknown types retain 3200 bytes\n");
}

TEST_CASE("objects of unknown types that hold each other count once, and not those of suspects") {
  SnapshotBuilder build;
  const auto large = build.type("(unknown)", false);
  const auto atomic = build.type("(unknown atomic)", false);
  for (std::uint32_t i = 0; i < 12; ++i) {  // each holds a text of 900 bytes
    build.object(0x1000 + 0x1000 * i, large, 100, {{8, 2 * i + 1}});
    build.object(0x1400 + 0x1000 * i, atomic, 900);
    build.snapshot.roots.emplace_back().to = 2 * i;
  }
  std::vector<std::pair<std::uint32_t, snapshot::ObjectIndex>> pointers;
  for (std::uint32_t i = 0; i < 100; ++i) pointers.emplace_back(8 * i, 25 + i);
  build.object(0x20000, large, 800, pointers);
  for (std::uint32_t i = 0; i < 100; ++i) build.object(0x21000 + 0x100 * i, atomic, 100);
  build.snapshot.roots.emplace_back().to = 24;
  const auto suspects = analyze::find_suspects(build.snapshot);
  CHECK(suspects.live_bytes == 22'800);
  REQUIRE(suspects.found.size() == 1);
  CHECK(suspects.found[0].retained_bytes == 10'800);
  CHECK(suspects.untyped_bytes == 12'000);
  CHECK(format_suspects_text(build.snapshot, {suspects}, {})
            .ends_with("objects of unknown types retain another 12000 bytes\n"));
}

TEST_CASE("a buffer that something else references too is named itself, with its own number") {
  Snapshot snapshot = pages_and_requests();
  snapshot.roots.back().to = 1;
  const auto suspects = analyze::find_suspects(snapshot);
  REQUIRE(!suspects.found.empty());
  CHECK(suspects.found[0].named == 1);
  CHECK(suspects.found[0].sentence.starts_with("the buffer of one Array(Page) keeps 7200 bytes"));
}

TEST_CASE("a container of a suspect is named with what it retains, in JSON too") {
  const Snapshot snapshot = pages_and_requests();
  const std::string json = format_suspects_json(snapshot, {analyze::find_suspects(snapshot)});
  CHECK(json.find(R"x("address":"0x2000","type":"(buffer of Array(Page))","objects":1,)x"
                  R"x("retained_bytes":7200,"named":{"address":"0x1000","type":"Array(Page)",)x"
                  R"x("retained_bytes":7232})x") != std::string::npos);
}

namespace {

// HOLDER → Holder → a complete tree of 1023 nodes of 64 bytes.
Snapshot tree_of_nodes(bool has_parents) {
  SnapshotBuilder build;
  const auto holder = build.type("Holder");
  const auto node = build.type("Node");
  build.snapshot.types[holder].paths = {{8, "root"}, {16, "first"}, {24, "last"}};
  build.snapshot.types[node].paths = {{8, "parent"}, {16, "left"}, {24, "right"}};
  if (has_parents) {
    build.object(0x1000, holder, 64, {{8, 1}, {16, 512}, {24, 1023}});
  } else {
    build.object(0x1000, holder, 64, {{8, 1}});
  }
  for (std::uint32_t n = 1; n <= 1023; ++n) {
    std::vector<std::pair<std::uint32_t, snapshot::ObjectIndex>> pointers;
    if (has_parents && n > 1) pointers.emplace_back(8, n / 2);
    if (n < 512) pointers.insert(pointers.end(), {{16, 2 * n}, {24, 2 * n + 1}});
    build.object(0x10000 + 64 * n, node, 64, pointers);
  }
  build.snapshot.roots.emplace_back().symbol = "HOLDER";
  return build.snapshot;
}

}  // namespace

TEST_CASE("a tree is one suspect, not its subtrees") {
  const auto suspects = analyze::find_suspects(tree_of_nodes(false));
  REQUIRE(suspects.found.size() == 1);
  CHECK(suspects.found[0].sentence ==
        "a tree of 1023 Node keeps 65472 bytes, 100 % of all live bytes");
}

TEST_CASE("a tree whose nodes know their parents is its holder's, and all nodes count") {
  const auto suspects = analyze::find_suspects(tree_of_nodes(true));
  REQUIRE(suspects.found.size() == 1);
  CHECK(suspects.found[0].sentence ==
        "one Holder keeps 65536 bytes, 100 % of all live bytes: through 1023 Node");
}

TEST_CASE("a tree that a second variable enters is one suspect too") {
  Snapshot snapshot = tree_of_nodes(true);
  snapshot.roots.emplace_back().symbol = "LATEST";
  snapshot.roots.back().to = 700;
  const auto suspects = analyze::find_suspects(snapshot);
  REQUIRE(suspects.found.size() == 1);
  CHECK(suspects.found[0].sentence.starts_with("1023 Node that no single object holds keep 65472"));
}

TEST_CASE("an object of which only the size is known is called a block") {
  SnapshotBuilder alone;
  alone.object(0x100000, alone.type("(72704 bytes)", false), 72704);
  alone.snapshot.roots.emplace_back().symbol = "pool";
  CHECK(analyze::find_suspects(alone.snapshot).found.at(0).sentence ==
        "one block of 72704 bytes, 100 % of all live bytes");

  SnapshotBuilder list;
  const auto block = list.type("(72704 bytes)", false);
  const auto small = list.type("(48 bytes)", false);
  list.object(0x100000, block, 72704, {{8, 1}, {16, 2}, {24, 3}});
  for (std::uint64_t i = 1; i <= 3; ++i) list.object(0x200000 + i * 0x100, small, 48);
  list.snapshot.roots.emplace_back().symbol = "pool";
  CHECK(analyze::find_suspects(list.snapshot).found.at(0).sentence ==
        "one block of 72704 bytes keeps 72848 bytes, 100 % of all live bytes: through 3 blocks of "
        "48 bytes");
}

TEST_CASE("a suspect names what has most of its bytes, and through what it has it") {
  SnapshotBuilder build;
  const auto list = build.type("List");
  const auto job = build.type("Job");
  const auto text = build.type("Text");
  std::vector<std::pair<std::uint32_t, snapshot::ObjectIndex>> jobs;
  for (std::uint32_t i = 0; i < 10; ++i) jobs.emplace_back(8 * i, 1 + i);
  build.object(0x1000, list, 96, jobs);
  for (std::uint32_t i = 0; i < 10; ++i) build.object(0x2000 + 32 * i, job, 32, {{8, 11 + i}});
  std::uint32_t bytes = 4096;
  SUBCASE("one type has most") {}
  SUBCASE("none has most") {
    bytes = 16;
  }
  for (std::uint32_t i = 0; i < 10; ++i) build.object(0x10000 + 0x1000 * i, text, bytes);
  build.snapshot.roots.emplace_back().symbol = "LIST";
  const std::string sentence = analyze::find_suspects(build.snapshot).found.at(0).sentence;
  INFO(sentence);
  CHECK(sentence.ends_with(bytes == 4096 ? "live bytes: mostly 10 Text, through 10 Job"
                                         : "live bytes: through 10 Job"));
}

TEST_CASE("a small heap is called small first, and a large one is not") {
  SnapshotBuilder build;
  const auto page = build.type("Page");
  build.object(0x1000, page, 1000);
  build.snapshot.roots.emplace_back().symbol = "PAGE";
  const auto text = [&] {
    return format_suspects_text(build.snapshot, {analyze::find_suspects(build.snapshot)}, {});
  };
  CHECK(text().starts_with(
      "the whole heap is small, 1000 live bytes: a large share of it is nothing unusual\n"));
  CHECK(text().ends_with("1 object retains a tenth or more of the 1000 live bytes\n"));
  build.snapshot.heaps.emplace_back().heap_bytes = 43 << 20;
  CHECK(text().starts_with(
      "little is reachable: 1000 bytes of the heap's 45088768; see --summary\n"));
  build.snapshot.heaps.front().name = "malloc";
  CHECK(text().starts_with(
      "little is reachable: 1000 bytes of the heap's 45088768; see --summary and --leaks\n"));
  build.snapshot.sizes[0] = 1 << 20;
  CHECK(text().starts_with("1. one Page keeps 1048576 bytes"));
  CHECK(text().ends_with("1 suspect retains a tenth or more of the 1048576 live bytes\n"));
}

// WORLD holds a World with 40 cells of its own and a log of 100 entries.
Snapshot world_with_log() {
  SnapshotBuilder build;
  const auto world = build.type("game::World");
  const auto buffer = build.type("(buffer of std::vector<Entry>)");
  const auto entry = build.type("Entry");
  const auto cell = build.type("Cell");
  build.snapshot.types[world].paths = {{8, "log._M_impl._M_start"}};
  build.snapshot.types[world].elements = {16, 8, "cells", {{0, ""}}};
  build.snapshot.types[buffer].elements = {0, 8, "", {{0, ""}}};
  std::vector<std::pair<std::uint32_t, snapshot::ObjectIndex>> cells = {{8, 1}};
  for (std::uint32_t i = 0; i < 40; ++i) cells.emplace_back(16 + 8 * i, 102 + i);
  build.object(0x1000, world, 400, cells);
  std::vector<std::pair<std::uint32_t, snapshot::ObjectIndex>> entries;
  for (std::uint32_t i = 0; i < 100; ++i) entries.emplace_back(8 * i, 2 + i);
  build.object(0x2000, buffer, 800, entries);
  for (std::uint32_t i = 0; i < 100; ++i) build.object(0x10000 + 64 * i, entry, 64);
  for (std::uint32_t i = 0; i < 40; ++i) build.object(0x20000 + 64 * i, cell, 64);
  build.snapshot.roots.emplace_back().symbol = "game::world";
  return build.snapshot;
}

TEST_CASE("a suspect within another is reported there, as a part of it") {
  const Snapshot snapshot = world_with_log();
  const auto suspects = analyze::find_suspects(snapshot);
  REQUIRE(suspects.found.size() == 2);
  CHECK_FALSE(suspects.found[0].within);
  CHECK(suspects.found[0].sentence.starts_with("one game::World keeps 10160 bytes, 100 %"));
  CHECK(suspects.found[1].within == 0);
  CHECK(suspects.found[1].part == "game::World.log's buffer");
  CHECK(suspects.found[1].sentence.starts_with(
      "within it, game::World.log's buffer keeps 7200 bytes"));
  const std::string text = format_suspects_text(snapshot, {suspects}, {});
  CHECK(text.find("\n1. one game::World keeps") != std::string::npos);
  CHECK(text.find("\n    within it, game::World.log's buffer keeps") != std::string::npos);
  CHECK(text.find("\n          log._M_impl._M_start → 0x2000 (buffer of") != std::string::npos);
  CHECK(text.find("1 object retains a tenth or more") != std::string::npos);
  CHECK(text.find("2.") == std::string::npos);
  const std::string json = format_suspects_json(snapshot, {suspects});
  CHECK(json.find(R"("within":0,"part":"game::World.log's buffer")") != std::string::npos);
}

TEST_CASE("a heap without objects has no suspects") {
  const Snapshot empty = SnapshotBuilder().snapshot;
  CHECK(analyze::find_suspects(empty).found.empty());
}

TEST_CASE("the references to the objects of a type form a graph, and cuts are marked") {
  const Snapshot snapshot = pages_and_requests();
  const auto found = analyze::find_neighbourhood(snapshot, {"Page", 1, 2});
  REQUIRE(found);
  CHECK(found->left_out_objects == 98);
  CHECK(found->open_objects == 1);
  const std::string mermaid = format_graph_mermaid(snapshot, *found);
  CHECK(mermaid.find("graph LR\n  0x10000[\"0x10000 Page\"]\n") == 0);
  CHECK(mermaid.find("\"] -- \"[1]\" --> 0x10040\n") != std::string::npos);
  CHECK(mermaid.find("%% cut: 98 more objects (--objects)") != std::string::npos);
  const auto all = analyze::find_neighbourhood(snapshot, {"Page", 0, 0});
  REQUIRE(all);
  CHECK(all->links.size() == 101);
  CHECK(cut_lines(*all).empty());
  const std::string dot = format_graph_dot(snapshot, *all);
  CHECK(dot.find("root1 [label=\"global LIST\", shape=oval]") != std::string::npos);
  CHECK(format_graph_json(snapshot, *all).find("\"level\":1") != std::string::npos);
}

}  // namespace heapattach
