#include "inject/headroom.h"

#include <doctest/doctest.h>

namespace heapattach {

using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kGigabyte = std::uint64_t{1} << 30;

CloneFacts comfortable() {
  CloneFacts facts;
  facts.anonymous_bytes = 2 * kGigabyte;
  facts.page_table_bytes = kGigabyte / 256;
  facts.private_bytes = 3 * kGigabyte;
  facts.available_bytes = 8 * kGigabyte;
  facts.commit_left_bytes = 8 * kGigabyte;
  return facts;
}

bool mentions(const CloneFacts& facts, std::string_view word) {
  const auto obstacle = obstacle_to_clone(facts, 2000ms);
  return obstacle && obstacle->find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("with room to spare nothing prevents a clone") {
  CHECK(!obstacle_to_clone(comfortable(), 2000ms));
}

TEST_CASE("a recorder is put only where there is room for it") {
  constexpr std::uint64_t kMegabyte = kGigabyte >> 10;
  const RecorderNeed need{.target_bytes = kMegabyte, .own_bytes = 16 * kMegabyte};
  CloneFacts facts = comfortable();
  const auto obstacle = [&] { return obstacle_to_recorder(facts, need).value_or(""); };
  CHECK(obstacle().empty());
  // The ring is charged to heapattach, so it counts only in groups that contain both processes.
  facts.groups = {{"/sys/fs/cgroup/a", 3 * kMegabyte, false}, {"/sys/fs/cgroup", kGigabyte, false}};
  CHECK(obstacle().empty());
  facts.groups.front().is_ours = true;
  CHECK(obstacle() ==
        "the recorder needs 19456 KiB at once, and the control group /sys/fs/cgroup/a has 3072 KiB "
        "left");
  facts.groups = {{"/sys/fs/cgroup/a", 3 * kMegabyte - 1, false}};
  CHECK(obstacle().find("needs 3072 KiB at once") != std::string::npos);
  facts.groups.clear();
  facts.available_bytes = 19 * kMegabyte - 1;
  CHECK(obstacle().find("the machine has") != std::string::npos);
}

TEST_CASE("the obstacle to a clone is named") {
  CloneFacts facts = comfortable();
  SUBCASE("too many page tables for the pause that is allowed") {
    facts.anonymous_bytes = 300 * kGigabyte;
    CHECK(mentions(facts, "page tables"));
  }
  SUBCASE("the machine's memory") {
    facts.available_bytes = kGigabyte / 256;
    CHECK(mentions(facts, "machine"));
  }
  SUBCASE("a control group's memory") {
    facts.groups = {{"/sys/fs/cgroup/a", 8 * kGigabyte, false}, {"/sys/fs/cgroup", 1000, false}};
    CHECK(mentions(facts, "/sys/fs/cgroup has"));
  }
  SUBCASE("a control group that is killed as a whole") {
    facts.groups = {{"/sys/fs/cgroup/a", kGigabyte, true}};
    CHECK(mentions(facts, "oom.group"));
    facts.groups = {{"/sys/fs/cgroup/a", kGigabyte, false}};
    CHECK(!obstacle_to_clone(facts, 2000ms));
  }
  SUBCASE("strict accounting") {
    facts.commits_strictly = true;
    CHECK(!obstacle_to_clone(facts, 2000ms));
    facts.commit_left_bytes = kGigabyte;
    CHECK(mentions(facts, "overcommit"));
  }
  SUBCASE("a pid namespace for its children") {
    facts.makes_namespaces = true;
    CHECK(mentions(facts, "namespace"));
  }
  SUBCASE("huge pages of its own") {
    facts.has_huge_pages = true;
    CHECK(mentions(facts, "huge pages"));
  }
  SUBCASE("memory shared with its parent") {
    facts.shares_its_memory = true;
    CHECK(mentions(facts, "vfork"));
  }
}

TEST_CASE("a clone starts with more room than the limit at which it is given up") {
  CloneFacts facts = comfortable();
  facts.groups = {{"/sys/fs/cgroup/a", reserve_bytes(facts.anonymous_bytes), false}};
  CHECK(mentions(facts, "/sys/fs/cgroup/a"));
  CHECK(reserve_bytes(0) > 0);
  CHECK(reserve_bytes(32 * kGigabyte) > kGigabyte);
}

TEST_CASE("the pause of a clone is estimated from resident memory") {
  CloneFacts facts;
  CHECK(estimated_clone_pause(facts) == 1ms);
  facts.anonymous_bytes = 10 * kGigabyte;
  CHECK(estimated_clone_pause(facts) == 151ms);
}

}  // namespace heapattach
