#include "report/analyze/suspects.h"

#include <doctest/doctest.h>

#include "report/analyze/neighbourhood.h"
#include "report/format/write/graph_formats.h"
#include "report/format/write/suspects_formats.h"
#include "tests/support/small_snapshot.h"

using namespace heapattach;
using snapshot::Snapshot;

namespace {

// LIST holds an array of 100 pages; a stack each holds 50 requests.
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
        "one Array(Page) keeps 7200 bytes, 69 % of all live bytes: mostly 100 Page");
  const analyze::Suspect& type = suspects.found[1];
  CHECK(type.is_type);
  CHECK(type.objects == 50);
  CHECK(type.root_path_summary == "stacks of fibers");
  CHECK(type.sentence.find("50 Request that no single object holds") == 0);
  const std::string text = format_suspects_text(snapshot, suspects, {});
  CHECK(text.find("100 objects  6400 bytes  Page") != std::string::npos);
  CHECK(format_suspects_json(snapshot, suspects).find("\"kind\":\"type\"") != std::string::npos);
}

TEST_CASE("objects of unknown types are not a suspect together, but reported") {
  SnapshotBuilder build;
  const auto unknown = build.type("(unknown atomic)", false);
  for (std::uint32_t i = 0; i < 50; ++i) {
    build.object(0x1000 + 64 * i, unknown, 64);
    build.snapshot.roots.emplace_back().to = i;
  }
  const auto suspects = analyze::find_suspects(build.snapshot);
  CHECK(suspects.found.empty());
  CHECK(suspects.untyped_bytes == 3200);
  CHECK(format_suspects_text(build.snapshot, suspects, {}) ==
        "nothing retains a tenth of the 3200 live bytes\n"
        "3200 bytes are of unknown types, and no suspect retains them\n");
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
  CHECK(suspects.found[1].sentence.starts_with("of it, game::World.log's buffer keeps 7200 bytes"));
  const std::string text = format_suspects_text(snapshot, suspects, {});
  CHECK(text.find("1. one game::World keeps") == 0);
  CHECK(text.find("\n    of it, game::World.log's buffer keeps") != std::string::npos);
  CHECK(text.find("\n          log._M_impl._M_start → 0x2000 (buffer of") != std::string::npos);
  CHECK(text.find("1 suspect retains a tenth or more") != std::string::npos);
  CHECK(text.find("2.") == std::string::npos);
  const std::string json = format_suspects_json(snapshot, suspects);
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
