#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/seen_heap.h"

// The truth test: what we find alive in a process against the collector's own list.

using namespace heapattach;

TEST_CASE("the live set equals the collector's list, except for the links of free lists") {
  LiveTarget target("known_live_set");
  const SeenHeap seen = look_at(target.pid());
  CHECK(harm_done_to(target.pid()) == "");
  CHECK(seen.unreadable == 0);
  CHECK(seen.skipped == 0);
  CHECK(seen.records >= 5);
  CHECK(seen.thread_lists > 0);
  CHECK(seen.problems.empty());

  const Difference difference = compare_with_list(target, seen);
  MESSAGE(fmt::format("{} listed, {} found, {} links of free lists, {} missed, {} unlisted",
                      difference.listed, seen.live.size(), difference.links, difference.missed,
                      difference.unlisted));
  INFO(difference.first);
  CHECK(difference.listed > 5000);
  CHECK(difference.missed == 0);
  CHECK(difference.unlisted == 0);
  CHECK(difference.other_sizes == 0);
  CHECK(difference.links > 0);

  // A stale word somewhere may keep a dead object; then it keeps it for the collector too.
  int dead = 0;
  int kept = 0;
  for (const KnownObject& object : ask_known(target)) {
    INFO(object.line);
    const bool is_found = seen.live.count(object.address) != 0;
    if (object.is_alive) {
      CHECK(is_found);
    } else {
      ++dead;
      kept += is_found ? 1 : 0;
    }
  }
  CHECK(dead >= 8);
  CHECK(kept <= 1);
}
