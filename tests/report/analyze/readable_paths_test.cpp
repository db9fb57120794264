#include "report/analyze/readable_paths.h"

#include <doctest/doctest.h>

#include "report/analyze/suspects.h"
#include "report/analyze/why.h"
#include "tests/support/small_snapshot.h"

namespace heapattach::analyze {
namespace {

using snapshot::ObjectIndex;
using snapshot::Root;
using snapshot::RootKind;
using snapshot::Snapshot;

constexpr std::uint32_t kClosures = 8;
constexpr std::uint32_t kMessages = 50;

// The global HANDLERS references a chain of closures without names, the last of which a Server. It
// has a Queue, whose list of messages is most of the heap. The queue's own fiber references it,
// too, in the frame of a function with a name. A word on the stack of a thread references
// `at_word`.
Snapshot server(ObjectIndex at_word, std::string function = "Queue#expire") {
  SnapshotBuilder build;
  for (std::uint32_t i = 0; i < kClosures; ++i) build.type("(unknown)", false);
  const auto server = build.type("Server");
  const auto queue = build.type("Queue");
  const auto message = build.type("Message");
  auto& types = build.snapshot.types;
  types[server].paths = {{8, "@queue"}};
  types[queue].paths = {{8, "@first"}};
  types[message].paths = {{8, "@next"}};
  for (std::uint32_t i = 0; i < kClosures; ++i) {
    build.object(0x1000 + 16 * i, i, 16, {{8, i + 1}});
  }
  build.object(0x2000, server, 16, {{8, kClosures + 1}});
  build.object(0x2010, queue, 16, {{8, kClosures + 2}});
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    const ObjectIndex next = kClosures + 3 + i;
    if (i + 1 < kMessages) {
      build.object(0x10000 + 1024 * i, message, 1024, {{8, next}});
    } else {
      build.object(0x10000 + 1024 * i, message, 1024);
    }
  }
  Snapshot& made = build.snapshot;
  snapshot::Place place;
  place.at = {std::move(function), "src/queue.cr", 7};
  place.module = "app";
  made.places = {std::move(place)};
  made.stacks = {{{{0}}, 0, 0, {}}};
  made.threads = {{7, "app", 'S', 0}};
  made.roots.emplace_back().symbol = "HANDLERS";
  Root word;
  word.kind = RootKind::Stack;
  word.thread = 7;
  word.address = 0x7ff0;
  word.frame = 0;
  word.to = at_word;
  made.roots.push_back(word);
  return made;
}

constexpr ObjectIndex kQueue = kClosures + 1;
constexpr ObjectIndex kFirst = kClosures + 2;

Why why(const Snapshot& snapshot, const std::string& what) {
  auto found = explain_why(snapshot, {what, 5, {}});
  REQUIRE(found);
  return std::move(found).value();
}

TEST_CASE("of two roots that reach the same objects, the one with a readable path comes first") {
  const Snapshot snapshot = server(kQueue);
  SUBCASE("for a type") {
    const Why found = why(snapshot, "Message");
    REQUIRE(found.paths.size() == 2);
    CHECK(found.paths[0].summary == "Queue#expire on stacks of threads → @first → @next…");
    CHECK(found.paths[0].root == 1);
    CHECK(found.paths[0].root_path.size() == 3);
    REQUIRE(found.paths[0].also.size() == 1);
    CHECK(found.paths[0].also[0].summary ==
          "global HANDLERS → (8 steps without names) → @queue → @first → @next…");
  }
  SUBCASE("for one object") {
    const Why found = why(snapshot, "0x10400");
    REQUIRE(found.paths.size() == 2);
    CHECK(found.paths[0].root == 1);
    CHECK(found.paths[1].root == 0);
  }
  SUBCASE("for most of the heap") {
    const Suspects found = find_suspects(snapshot);
    REQUIRE(found.found.size() == 1);
    CHECK(found.found[0].root == 1);
    CHECK(found.found[0].also.size() == 1);
  }
}

TEST_CASE("a path that reaches only some of the objects does not come first") {
  const Why found = why(server(kFirst + 20), "Message");
  REQUIRE_FALSE(found.paths.empty());
  CHECK(found.paths[0].root == 0);
}

TEST_CASE("a word in an unknown function is no better than a long path from a variable") {
  const Why found = why(server(kQueue, ""), "Message");
  REQUIRE_FALSE(found.paths.empty());
  CHECK(found.paths[0].root == 0);
}

}  // namespace
}  // namespace heapattach::analyze
