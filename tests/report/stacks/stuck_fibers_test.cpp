#include "report/stacks/stuck_fibers.h"

#include <doctest/doctest.h>

#include "tests/support/small_snapshot.h"

namespace heapattach::stacks {
namespace {

using snapshot::ObjectIndex;
using snapshot::Root;
using snapshot::RootKind;
using snapshot::Snapshot;

// Two fibers, each of which waits for a channel of its own. A global references both Fibers, as the
// runtime's list does. Each Fiber references its block, which references the fiber's channel.
//
//   0, 1   the Fibers      2, 3   their blocks      4, 5   their channels
Snapshot two_fibers() {
  SnapshotBuilder build;
  const auto fiber = build.type("Fiber");
  const auto block = build.type("(closure)");
  const auto channel = build.type("Channel(Int32)");
  build.object(0x1000, fiber, 48, {{8, 1}, {24, 2}});
  build.object(0x1030, fiber, 48, {{24, 3}});
  build.object(0x2000, block, 16, {{0, 4}});
  build.object(0x2010, block, 16, {{0, 5}});
  build.object(0x3000, channel, 64);
  build.object(0x3040, channel, 64);
  Snapshot& made = build.snapshot;
  made.fibers = {{0x1000, "first"}, {0x1030, "second"}};
  for (std::size_t i = 0; i < 2; ++i) {
    made.fibers[i].wait.kind = snapshot::WaitKind::Receive;
    made.fibers[i].wait.type = "Channel(Int32)";
    made.fibers[i].wait.object = RemoteAddr{0x3000 + 0x40 * i};
  }
  made.roots.emplace_back().symbol = "FIBERS";
  return made;
}

void hold(Snapshot& snapshot, std::uint64_t fiber, ObjectIndex object) {
  Root word;
  word.kind = RootKind::Fiber;
  word.fiber = fiber;
  word.to = object;
  snapshot.roots.push_back(word);
}

std::vector<std::size_t> stuck(const Snapshot& snapshot) {
  const std::vector<std::size_t> both{0, 1};
  return stuck_fibers(snapshot, both, 3);
}

TEST_CASE("a fiber is stuck if only its own stack reaches what it waits for") {
  Snapshot snapshot = two_fibers();
  hold(snapshot, 0x1000, 4);
  hold(snapshot, 0x1030, 5);
  CHECK(stuck(snapshot) == std::vector<std::size_t>{0, 1});
  SUBCASE("not if a global reaches it") {
    snapshot.roots.emplace_back().to = 4;
    CHECK(stuck(snapshot) == std::vector<std::size_t>{1});
  }
  SUBCASE("not if a fiber reaches it that does not wait so") {
    hold(snapshot, 0x9000, 5);
    CHECK(stuck(snapshot) == std::vector<std::size_t>{0});
  }
  SUBCASE("not if another word of its Fiber references it, which others may read") {
    Snapshot with_mailbox = snapshot;
    with_mailbox.edges.insert(with_mailbox.edges.begin() + 2, {4, 4});
    for (std::size_t i = 1; i < with_mailbox.first_edge.size(); ++i) ++with_mailbox.first_edge[i];
    CHECK(stuck(with_mailbox) == std::vector<std::size_t>{1});
  }
  SUBCASE("not if it is unknown which word references its block") {
    const std::vector<std::size_t> both{0, 1};
    CHECK(stuck_fibers(snapshot, both, std::nullopt).empty());
  }
  SUBCASE("not if what it waits for is unknown") {
    snapshot.fibers[0].wait.object = RemoteAddr{0x7770};
    CHECK(stuck(snapshot) == std::vector<std::size_t>{1});
  }
  SUBCASE("not if its stack is unknown") {
    snapshot.roots.erase(snapshot.roots.begin() + 1);
    CHECK(stuck(snapshot) == std::vector<std::size_t>{1});
  }
}

TEST_CASE("fibers that wait for each other are stuck together") {
  Snapshot snapshot = two_fibers();
  hold(snapshot, 0x1000, 4);
  hold(snapshot, 0x1000, 5);
  hold(snapshot, 0x1030, 4);
  hold(snapshot, 0x1030, 5);
  CHECK(stuck(snapshot) == std::vector<std::size_t>{0, 1});
  // A fiber that can wake one of them wakes both.
  snapshot.roots.emplace_back().to = 5;
  CHECK(stuck(snapshot).empty());
}

TEST_CASE("the finding says how many there are, where they are, and what they wait for") {
  Snapshot snapshot = two_fibers();
  const std::vector<std::size_t> one{1};
  const std::vector<std::size_t> both{0, 1};
  add_stuck_fibers(snapshot, {});
  CHECK(snapshot.header.findings.empty());
  snapshot.fibers[1].function = "Client#run (client.cr:12)";
  add_stuck_fibers(snapshot, one);
  REQUIRE(snapshot.header.findings.size() == 1);
  CHECK(snapshot.header.findings[0] ==
        "deadlock: a fiber waits for objects that nothing else can reach, and will never run "
        "again: fiber "
        "\"second\" in Client#run (client.cr:12) waits to receive from Channel(Int32) 0x3040");
  CHECK(snapshot.fibers[1].finding == 0U);
  CHECK_FALSE(snapshot.fibers[0].finding);
  snapshot.fibers[0].function = "Client#run (client.cr:12)";
  add_stuck_fibers(snapshot, both);
  CHECK(snapshot.header.findings[1] ==
        "deadlock: 2 fibers wait for objects that nothing else can reach, and will never run "
        "again: 2 fibers in Client#run (client.cr:12) wait to receive from Channel(Int32)");
}

}  // namespace
}  // namespace heapattach::stacks
