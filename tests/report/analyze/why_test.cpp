#include "report/analyze/why.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "attach/sanitized.h"
#include "report/analyze/roots.h"
#include "report/format/write/why_formats.h"
#include "symbols/unwind/stack_record.h"
#include "tests/support/small_snapshot.h"

using namespace heapattach;
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
  session.frame = 2;  // after a hundred that are left out
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
  REQUIRE(found.paths.size() == 1);
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
  CHECK(why(snapshot, "Session", {{"(buffer of *", "[3].value"}}).unreached == 1);
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
  CHECK(format_why_text(snapshot, last, {}).size() < 2000);
}

TEST_CASE("the collector's own variables are not the reason if there is another one") {
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

TEST_CASE("paths may begin at one root, and what others retain is counted as before") {
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
