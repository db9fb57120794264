#include "report/analyze/watch.h"

#include <doctest/doctest.h>

namespace heapattach::analyze {

namespace {

snapshot::CountTable table(std::vector<snapshot::CountRow> rows) {
  snapshot::CountTable made;
  made.rows = std::move(rows);
  return made;
}

}  // namespace

TEST_CASE("only types that grew in every round remain") {
  Watch watch;
  watch.add(table({{"Burst", 1, 10}, {"Leak", 1, 10}, {"Same", 1, 10}}));
  CHECK(watch.rounds() == 0);
  CHECK(watch.difference().rows.empty());
  watch.add(table({{"Burst", 9, 90}, {"Leak", 2, 20}, {"Same", 1, 10}, {"New", 1, 8}}));
  CHECK(watch.difference().rows.size() == 3);
  watch.add(table({{"Leak", 3, 30}, {"Same", 1, 10}, {"New", 2, 16}, {"Late", 1, 8}}));
  watch.add(table({{"Burst", 5, 50}, {"Leak", 4, 40}, {"New", 3, 24}, {"Late", 2, 16}}));
  const Difference found = watch.difference();
  CHECK(watch.rounds() == 3);
  REQUIRE(found.rows.size() == 2);
  CHECK(found.rows[0] == TypeGrowth{"Leak", {1, 10}, {4, 40}, {}, {}});
  CHECK(found.rows[1] == TypeGrowth{"New", {}, {3, 24}, {}, {}});
  CHECK(found.total.before == Amount{3, 30});
  CHECK(found.total.after == Amount{14, 130});
  CHECK(watch.all().rows.size() == 5);
}

TEST_CASE("unreachable objects do not grow") {
  Watch watch;
  watch.add(table({{"Foo", 1, 10, false}}));
  watch.add(table({{"Foo", 2, 20, false}}));
  CHECK(watch.difference().rows.empty());
}

}  // namespace heapattach::analyze
