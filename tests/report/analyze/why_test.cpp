#include "report/analyze/why.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "attach/base/sanitized.h"
#include "report/analyze/neighbourhood.h"
#include "report/analyze/roots.h"
#include "report/format/write/text_reports.h"
#include "symbols/unwind/stack_record.h"
#include "tests/support/small_snapshot.h"

namespace heapattach {

using snapshot::Snapshot;

namespace {

// CACHE → Cache @h → Hash @entries → buffer [*].value → 998 sessions; a stack holds two more.
Snapshot cache_of_sessions() {
  SnapshotBuilder build;
  const auto cache = build.type("Cache");
  const auto hash = build.type("Hash(String, Session)");
  const auto buffer = build.type("(buffer of Hash(String, Session))");
  const auto session = build.type("Session");
  auto& types = build.snapshot.types;
  types[cache].paths = {{8, "@h"}};
  types[hash].paths = {{8, "@entries"}};
  types[buffer].elements = {0, 24, "", {{8, "key"}, {16, "value"}}};
  build.object(0x1000, cache, 16, {{8, 1}});
  build.object(0x1010, hash, 48, {{8, 2}});
  std::vector<std::pair<std::uint32_t, snapshot::ObjectIndex>> sessions;
  for (std::uint32_t i = 0; i < 998; ++i) sessions.emplace_back(24 * i + 16, 3 + i);
  build.object(0x2000, buffer, 24'576, sessions);
  for (std::uint32_t i = 0; i < 1000; ++i) build.object(0x10000 + 48 * i, session, 48);
  auto& roots = build.snapshot.roots;
  snapshot::Root global;
  global.symbol = "CACHE";
  global.module = "app";
  snapshot::Root stack;
  stack.kind = snapshot::RootKind::Stack;
  stack.thread = 7;
  stack.address = 0x7ff0;
  stack.to = 1001;
  roots.push_back(stack);
  stack.to = 1002;
  roots.push_back(stack);
  roots.push_back(global);
  return build.snapshot;
}

Snapshot list_of(std::uint32_t length) {
  SnapshotBuilder build;
  const auto node = build.type("Node");
  build.snapshot.types[node].paths = {{8, "@next"}};
  for (std::uint32_t i = 0; i < length; ++i) {
    if (i + 1 < length) {
      build.object(0x1000 + 16 * i, node, 16, {{8, i + 1}});
    } else {
      build.object(0x1000 + 16 * i, node, 16);
    }
  }
  build.snapshot.roots.emplace_back().symbol = "LIST";
  return build.snapshot;
}

analyze::Why why(const Snapshot& snapshot,
                 const std::string& what,
                 std::vector<analyze::Exclusion> exclusions = {}) {
  const auto found = analyze::explain_why(snapshot, {what, 5, std::move(exclusions)});
  REQUIRE(found);
  return *found;
}

}  // namespace

TEST_CASE("the paths to the objects of a type are merged and counted") {
  const Snapshot snapshot = cache_of_sessions();
  const auto found = why(snapshot, "Session");
  CHECK(found.objects == 1000);
  CHECK(found.unreached == 0);
  REQUIRE(found.paths.size() == 2);
  CHECK(found.paths[0].objects == 998);
  CHECK(found.paths[0].summary == "global CACHE of app → @h → @entries → [*].value");
  REQUIRE(found.paths[0].dominators.size() == 3);
  CHECK(found.paths[0].dominators.back().object == 2);
  CHECK(found.paths[1].objects == 2);
  CHECK(found.paths[1].summary == "stacks of threads");
  CHECK(found.paths[1].dominators.empty());
  const std::string text = format_why_text(snapshot, found, {});
  CHECK(text.find("998 of 1000 through global CACHE of app → @h") != std::string::npos);
  CHECK(text.find("[0].value → 0x10000 Session") != std::string::npos);
  const std::string json = format_why_json(snapshot, found);
  CHECK(json.find("\"by\":\"@entries\"") != std::string::npos);
}

TEST_CASE("a path that begins at an uncollectable part of something begins with its name") {
  Snapshot snapshot = cache_of_sessions();
  snapshot.roots[2].kind = snapshot::RootKind::Uncollectable;
  CHECK(why(snapshot, "Session").paths[0].summary ==
        "uncollectable objects → @h → @entries → [*].value");
  snapshot.types[0].name = "(static fields of Store)";
  snapshot.types[0].holder = "Store";
  CHECK(why(snapshot, "Session").paths[0].summary ==
        "(static fields of Store) → @h → @entries → [*].value");
}

TEST_CASE("a root on a stack is shown with its frame and its variable, if known") {
  Snapshot snapshot = cache_of_sessions();
  snapshot.places = {{0x41, {"handle", "src/app.cr", 55}, {{"read", "io.cr", 7}}, "app"},
                     {0x42, {"", "", 0}, {}, "libc.so.6"}};
  snapshot.stacks = {{{{1}, {0}, {0, unwind::FoundBy::Scan}}, 100, 2, {}}};
  snapshot.threads = {{7, "worker", 'S', 0}};
  snapshot.fibers = {{0x9000, "waiter", 0}};
  snapshot::Root& session = snapshot.roots[0];
  session.frame = 1;
  session.variable = "session";
  const auto words = [&] { return analyze::root_in_words(snapshot, snapshot.roots[0]); };
  const auto kind = [&] { return analyze::RootKinds(snapshot).in_words(snapshot.roots[0]); };
  CHECK(words() == "thread 7 worker, frame 1 handle (src/app.cr:55), variable session");
  CHECK(kind() == "variable session of handle on stacks of threads");
  session.inlined = 0;
  CHECK(words() ==
        "thread 7 worker, frame 1 read (io.cr:7, inlined into handle), variable session");
  session.frame = 0;
  session.variable.clear();
  CHECK(words() == "thread 7 worker, frame 0 ? (libc.so.6), at 0x7ff0");
  CHECK(kind() == "stacks of threads");
  session.frame = 2;  // after a hundred frames that are left out
  session.inlined = 9;
  CHECK(words() == "thread 7 worker, frame 102 handle (src/app.cr:55, guessed), at 0x7ff0");
  session.frame = 3;  // there is no such frame
  CHECK(words() == "stack of thread 7 worker at 0x7ff0");
  session.kind = snapshot::RootKind::Fiber;
  session.thread.reset();
  session.fiber = 0x9000;
  session.frame = 1;
  CHECK(words() == "fiber waiter (0x9000), frame 1 handle (src/app.cr:55), at 0x7ff0");
  CHECK(kind() == "handle on stacks of fibers");
}

TEST_CASE("of two roots that reference the same object, the one with a variable is the reason") {
  Snapshot snapshot = cache_of_sessions();
  snapshot.places = {{0x41, {"handle", "src/app.cr", 55}, {}, "app"}};
  snapshot.stacks = {{{{0}}, 0, 0, {}}};
  snapshot.threads = {{7, "worker", 'S', 0}};
  snapshot::Root named = snapshot.roots[0];
  named.frame = 0;
  named.variable = "session";
  snapshot.roots.push_back(named);
  const auto found = why(snapshot, "0x1bb20");
  REQUIRE(found.paths.size() == 2);
  CHECK(found.paths[0].root == 3);
  const std::string json = format_why_json(snapshot, found);
  CHECK(json.find(R"("frame":0,"function":"handle","file":"src/app.cr","line":55,)"
                  R"("variable":"session")") != std::string::npos);
}

TEST_CASE("one object is found by any address in it, with its path and its dominators") {
  const Snapshot snapshot = cache_of_sessions();
  const auto found = why(snapshot, "0x10035");
  REQUIRE(found.object);
  CHECK(*found.object == 4);
  REQUIRE(found.paths.size() == 1);
  CHECK(found.paths[0].root_path.size() == 4);
  CHECK(found.paths[0].dominators.size() == 3);
  CHECK(found.retained_bytes == 48);
}

TEST_CASE("excluded edges are not followed") {
  const Snapshot snapshot = cache_of_sessions();
  const auto found = why(snapshot, "Session", {{"Hash(*)", "@entries"}});
  CHECK(found.excluded_edges == 1);
  CHECK(found.unreached == 998);
  CHECK(found.unused_exclusions.empty());
  CHECK(why(snapshot, "Session", {{"(buffer of *", "[3].value"}}).unreached == 1);
  const auto typo = why(snapshot, "Session", {{"Hash(*)", "@entries"}, {"Hash(*)", "@entrys"}});
  CHECK(typo.excluded_edges == 1);
  CHECK(typo.unused_exclusions == std::vector<std::string>{"Hash(*):@entrys"});
  CHECK(why(snapshot, "Session", {{"(buffer of *", "[*].value"}}).unreached == 998);
}

TEST_CASE("a long list is one path, found at once") {
  constexpr std::uint64_t kLength = kIsSanitized ? 100'000 : 1'000'000;  // deeper than a stack
  const Snapshot snapshot = list_of(kLength);
  const auto found = why(snapshot, "Node");
  REQUIRE(found.paths.size() == 2);
  CHECK(found.paths[0].objects == kLength - 1);
  CHECK(found.paths[0].summary == "global LIST → @next…");
  const auto last = why(snapshot, fmt::format("{:#x}", 0x1000 + 16 * (kLength - 1)));
  REQUIRE(last.paths.size() == 1);
  CHECK(last.paths[0].root_path.size() == kLength);
  CHECK(found.paths[0].also.empty());
  CHECK(format_why_text(snapshot, last, {}).size() < 2000);
}

TEST_CASE("the collector's own variables are not the reason if there is another root") {
  Snapshot snapshot = cache_of_sessions();
  snapshot::Root last_looked_at;
  last_looked_at.module = "libgc.so.1.5.1";
  SUBCASE("its library's") {}
  SUBCASE("its own in the program") {
    last_looked_at.module = "app";
    last_looked_at.symbol = "GC_last";
  }
  last_looked_at.to = 2;  // the buffer
  snapshot.roots.insert(snapshot.roots.begin(), last_looked_at);
  CHECK(why(snapshot, "Session").paths[0].summary ==
        "global CACHE of app → @h → @entries → [*].value");
  snapshot.roots.pop_back();  // CACHE
  const auto alone = why(snapshot, "Session");
  CHECK(alone.unreached == 0);
  CHECK(alone.paths[0].summary.ends_with(" → [*].value"));
}

TEST_CASE("paths can be limited to one root, and retained bytes are counted as before") {
  const Snapshot snapshot = cache_of_sessions();
  const auto from = [&](const std::string& what, const std::string& root) {
    analyze::WhyOptions options;
    options.what = what;
    options.from = root;
    return analyze::explain_why(snapshot, options);
  };
  const auto held = from("Session", "CACHE");
  REQUIRE(held);
  REQUIRE(held->paths.size() == 1);
  CHECK(held->paths[0].objects == 998);
  CHECK(held->unreached == 2);
  CHECK(format_why_text(snapshot, *held, {}).find("2 of 1000: CACHE does not reach them") !=
        std::string::npos);
  CHECK(format_why_json(snapshot, *held).find(R"("from":"CACHE","unreached":2)") !=
        std::string::npos);

  const auto leftovers = from("Session", "*thread 7*");
  REQUIRE(leftovers);
  CHECK(leftovers->unreached == 998);
  CHECK(leftovers->retained_bytes == held->retained_bytes);

  const auto one = from("0x10000", "*thread 7*");
  REQUIRE(one);
  CHECK(one->paths.empty());
  CHECK(one->unreached == 1);
  CHECK(one->retained_bytes == 48);

  const auto wrong = from("Session", "CASHE");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message() == "no root is called 'CASHE'; did you mean 'CACHE'?");
}

TEST_CASE("a missing name is reported, with similar ones") {
  const Snapshot snapshot = cache_of_sessions();
  const auto none = analyze::explain_why(snapshot, {"session", 5, {}});
  REQUIRE_FALSE(none);
  CHECK(none.error().message().find("'Session'") != std::string::npos);
  CHECK_FALSE(analyze::explain_why(snapshot, {"0x99", 5, {}}));
  CHECK_FALSE(analyze::parse_exclusion("Session"));
  CHECK_FALSE(analyze::parse_exclusion("Acme::Session"));
  CHECK(analyze::parse_exclusion("Acme::Session:@user")->type == "Acme::Session");
}

TEST_CASE("an object that a root references has no dominator, whatever it dominates") {
  const auto head = why(list_of(3), "0x1000");
  REQUIRE(head.paths.size() == 1);
  CHECK(head.paths[0].dominators.empty());
}

TEST_CASE("every root that references an object is a path to it, globals first, and N counts all") {
  SnapshotBuilder build;
  const auto pool = build.type("Pool");
  const auto service = build.type("Service");
  build.snapshot.types[service].paths = {{0, "pool"}};
  build.object(0x1000, pool, 64);
  build.object(0x2000, service, 16, {{0, 0}});
  Snapshot& snapshot = build.snapshot;
  snapshot.places = {{0x41, {"handle", "src/app.c", 55}, {}, "app"}};
  snapshot.stacks = {{{{0}}, 0, 0, {}}};
  snapshot.threads = {{7, "worker", 'S', 0}};
  snapshot::Root local;
  local.kind = snapshot::RootKind::Stack;
  local.thread = 7;
  local.frame = 0;
  local.variable = "pool";
  snapshot.roots.push_back(local);
  local.address = 8;  // the same variable, saved once more
  snapshot.roots.push_back(local);
  for (const auto& [symbol, to] :
       {std::pair{"g_pool", 0U}, std::pair{"g_service", 1U}, std::pair{"s_pool", 0U}}) {
    snapshot::Root global;
    global.symbol = symbol;
    global.to = to;
    snapshot.roots.push_back(global);
  }
  const auto found = why(snapshot, "0x1000");
  REQUIRE(found.paths.size() == 4);
  CHECK(found.paths[0].root == 2);
  CHECK(found.paths[1].root == 4);
  CHECK(found.paths[2].root == 0);
  CHECK(found.paths[3].root == 3);
  CHECK(format_why_text(snapshot, found, {})
            .ends_with("  no object retains it: a root references it directly\n"));
  const auto two = analyze::explain_why(snapshot, {"0x1000", 2, {}});
  REQUIRE(two);
  CHECK(two->paths.size() == 2);
  CHECK(two->other_paths == 2);
  const std::string text = format_why_text(snapshot, *two, {});
  CHECK(text.find("path 1 of 4, 0 steps\n    global g_pool\n") != std::string::npos);
  CHECK(text.ends_with("\n2 paths more; --paths N shows more\n"));

  const auto drawn = analyze::find_neighbourhood(snapshot, {"0x1000", 0, 0});
  REQUIRE(drawn);
  CHECK(drawn->roots.size() == 4);
}

TEST_CASE("a single path from a root that references the object says so") {
  const Snapshot snapshot = list_of(3);
  CHECK(format_why_text(snapshot, why(snapshot, "0x1000"), {})
            .ends_with("  no object retains it: the root references it directly\n"));
}

namespace {

// CACHE → Cache @list → buffer [*] → 30 items, and @by_name → buffer [*].value → all but `fewer`.
Snapshot items_in_two(std::uint32_t fewer) {
  SnapshotBuilder build;
  const auto cache = build.type("Cache");
  const auto list = build.type("(buffer of Array(Item))");
  const auto table = build.type("(buffer of Hash(String, Item))");
  const auto item = build.type("Item");
  auto& types = build.snapshot.types;
  types[cache].paths = {{0, "@list"}, {8, "@by_name"}};
  types[list].elements = {0, 8, "", {{0, ""}}};
  types[table].elements = {0, 16, "", {{8, "value"}}};
  build.object(0x1000, cache, 16, {{0, 1}, {8, 2}});
  std::vector<std::pair<std::uint32_t, snapshot::ObjectIndex>> listed;
  std::vector<std::pair<std::uint32_t, snapshot::ObjectIndex>> named;
  for (std::uint32_t i = 0; i < 30; ++i) listed.emplace_back(8 * i, 3 + i);
  for (std::uint32_t i = fewer; i < 30; ++i) named.emplace_back(16 * i + 8, 3 + i);
  build.object(0x2000, list, 240, listed);
  build.object(0x3000, table, 480, named);
  for (std::uint32_t i = 0; i < 30; ++i) build.object(0x10000 + 32 * i, item, 32);
  build.snapshot.roots.emplace_back().symbol = "CACHE";
  return build.snapshot;
}

}  // namespace

TEST_CASE("a second container of the same objects is named, even below the same root") {
  const Snapshot snapshot = items_in_two(0);
  const auto found = why(snapshot, "Item");
  REQUIRE(found.paths.size() == 1);
  CHECK(found.paths[0].summary == "global CACHE → @list → [*]");
  REQUIRE(found.paths[0].also.size() == 1);
  CHECK(found.paths[0].also[0].objects == 30);
  CHECK(found.paths[0].also[0].summary == "global CACHE → @by_name → [*].value");
  CHECK(format_why_text(snapshot, found, {})
            .find("  also all 30 through global CACHE → @by_name → [*].value\n") !=
        std::string::npos);
  CHECK(format_why_json(snapshot, found).find(R"("also":[{"objects":30,"summary":"global CACHE)") !=
        std::string::npos);
}

TEST_CASE("a second container counts if it holds a tenth of the objects") {
  CHECK(why(items_in_two(27), "Item").paths[0].also[0].objects == 3);
  CHECK(why(items_in_two(28), "Item").paths[0].also.empty());
}

TEST_CASE("objects of variables have a second holder if other variables hold them") {
  Snapshot snapshot = items_in_two(30);
  snapshot.places = {{0x41, {"handle", "src/app.cr", 55}, {}, "app"}};
  snapshot.stacks = {{{{0}}, 0, 0, {}}};
  snapshot.threads = {{7, "worker", 'S', 0}};
  for (std::uint32_t i = 0; i < 30; ++i) {
    snapshot::Root local;
    local.kind = snapshot::RootKind::Stack;
    local.thread = 7;
    local.frame = 0;
    local.variable = "item";
    local.to = 3 + i;
    snapshot.roots.push_back(local);
  }
  const auto found = why(snapshot, "Item");
  REQUIRE(found.paths.size() == 1);
  CHECK(found.paths[0].summary == "variable item of handle on stacks of threads");
  REQUIRE(found.paths[0].also.size() == 1);
  CHECK(found.paths[0].also[0].summary == "global CACHE → @list → [*]");
}

TEST_CASE("a tree is one path, whichever way it is shaped; a C++ map is its elements") {
  SnapshotBuilder build;
  const auto index = build.type("Index");
  const std::string name = "std::_Rb_tree_node<std::pair<int const, Packet*> >";
  const auto cxx = build.type(name);
  const auto own = build.type("Node");
  const auto packet = build.type("Packet");
  auto& types = build.snapshot.types;
  types[index].paths = {{8, "byId._M_t._M_impl._M_header._M_parent"},
                        {16, "byId._M_t._M_impl._M_header._M_left"},
                        {24, "byId._M_t._M_impl._M_header._M_right"},
                        {32, "@tree"}};
  for (const auto node : {cxx, own}) {
    types[node].paths = {{8, "_M_parent"}, {16, "_M_left"}, {24, "_M_right"}, {32, "value"}};
  }
  // Two complete trees of 31 nodes: node n has the children 2n and 2n + 1, and a packet.
  build.object(0x1000, index, 48, {{8, 1}, {16, 16}, {24, 31}, {32, 32}});
  for (const auto node : {cxx, own}) {
    const std::uint32_t first = node == cxx ? 0 : 31;
    for (std::uint32_t n = 1; n <= 31; ++n) {
      std::vector<std::pair<std::uint32_t, snapshot::ObjectIndex>> pointers;
      if (node == cxx && n > 1) pointers.emplace_back(8, n / 2);
      if (n < 16) pointers.insert(pointers.end(), {{16, first + 2 * n}, {24, first + 2 * n + 1}});
      pointers.emplace_back(32, 62 + first + n);
      build.object(0x2000 + (first + n) * 0x40, node, 48, pointers);
    }
  }
  for (std::uint32_t i = 0; i < 62; ++i) build.object(0x10000 + 0x40 * i, packet, 48);
  build.snapshot.roots.emplace_back().symbol = "INDEX";
  const auto found = why(build.snapshot, "Packet");
  REQUIRE(found.paths.size() == 3);
  CHECK(found.paths[0].summary == "global INDEX → byId[*] → value");
  CHECK(found.paths[0].objects == 31);
  CHECK(found.paths[1].summary == "global INDEX → @tree → _M_left/_M_right… → value");
  CHECK(found.paths[1].objects == 30);
  CHECK(found.paths[2].summary == "global INDEX → @tree → value");  // of the upper node
  const auto last = why(build.snapshot, "0x10f40");
  CHECK(format_why_text(build.snapshot, last, {}).find("_M_right → … 3 of the same, the last") !=
        std::string::npos);
}

}  // namespace heapattach
