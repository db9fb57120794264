#include "report/analyze/leaks.h"

#include <doctest/doctest.h>

#include "symbols/malloc/source.h"
#include "tests/support/small_snapshot.h"

namespace heapattach {

namespace {

// Makes objects 0 to n - 1 at 0x1000, 0x1010, …: each with a type and references, leaked or not.
class LeakBuilder {
 public:
  LeakBuilder() {
    for (const char* name : {"List", "Entry", "Text"}) build_.type(name);
    build_.snapshot.heaps.emplace_back().name = glibc::kHeapKind.name;
  }
  LeakBuilder& add(snapshot::TypeIndex type,
                   std::uint64_t bytes,
                   const std::vector<snapshot::ObjectIndex>& to = {},
                   bool is_leaked = true) {
    std::vector<std::pair<std::uint32_t, snapshot::ObjectIndex>> pointers;
    for (const snapshot::ObjectIndex one : to) {
      pointers.emplace_back(static_cast<std::uint32_t>(pointers.size() * 8), one);
    }
    const std::uint64_t address = 0x1000 + 0x10 * build_.snapshot.objects.size();
    build_.object(address, type, bytes, pointers).is_reachable = is_leaked ? 0 : 1;
    return *this;
  }
  const snapshot::Snapshot& snapshot() const { return build_.snapshot; }
  snapshot::Snapshot& snapshot() { return build_.snapshot; }

 private:
  SnapshotBuilder build_;
};

enum : snapshot::TypeIndex { kList, kEntry, kText };

}  // namespace

TEST_CASE("a leak is what no other leaked object references, with all that it takes along") {
  LeakBuilder build;
  build.add(kList, 32, {1, 2});   // a list, whose entries leak with it
  build.add(kEntry, 48, {3});     // this entry shares a text with the next one
  build.add(kEntry, 48, {3, 5});  // this one also references a live object
  build.add(kText, 100);
  build.add(kText, 64);  // a leak of its own
  build.add(kText, 16, {}, false);
  const auto leaks = analyze::find_leaks(build.snapshot());
  CHECK(leaks.objects == 5);
  CHECK(leaks.bytes == 32 + 48 + 48 + 100 + 64);
  CHECK(leaks.leaks == 2);
  REQUIRE(leaks.rows.size() == 2);
  CHECK(leaks.rows[0].type == kList);
  CHECK(leaks.rows[0].leaks == 1);
  CHECK(leaks.rows[0].objects == 4);
  CHECK(leaks.rows[0].bytes == 228);
  CHECK(leaks.rows[0].example == 0);
  CHECK_FALSE(leaks.rows[0].is_cycle);
  CHECK(leaks.rows[1].type == kText);
  CHECK(leaks.rows[1].bytes == 64);
  REQUIRE(leaks.types.size() == 3);
  CHECK(leaks.types[0].type == kText);
  CHECK(leaks.types[0].bytes == 164);
}

TEST_CASE("a cycle that nothing outside references is one leak, and what is behind it is not") {
  LeakBuilder build;
  build.add(kText, 16);           // only the cycle references it, but its address is the first
  build.add(kEntry, 48, {2, 0});  // a cycle of three
  build.add(kEntry, 48, {3});
  build.add(kEntry, 48, {1, 4});
  build.add(kEntry, 24, {5});  // a cycle of two, which the first cycle references
  build.add(kEntry, 24, {4});
  build.add(kList, 32, {6});  // references only itself: a leak like any other
  const auto leaks = analyze::find_leaks(build.snapshot());
  CHECK(leaks.leaks == 2);
  REQUIRE(leaks.rows.size() == 2);
  CHECK(leaks.rows[0].type == kEntry);
  CHECK(leaks.rows[0].is_cycle);
  CHECK(leaks.rows[0].objects == 6);
  CHECK(leaks.rows[0].bytes == 16 + 3 * 48 + 2 * 24);
  CHECK(leaks.rows[1].type == kList);
  CHECK_FALSE(leaks.rows[1].is_cycle);
}

TEST_CASE("leaks of an ignored type are left out with all that they take along") {
  LeakBuilder build;
  build.add(kList, 32, {1});
  build.add(kText, 100);
  build.add(kText, 64);
  const auto leaks = analyze::find_leaks(build.snapshot(), {.ignored = {"Li*"}});
  CHECK(leaks.objects == 1);
  CHECK(leaks.bytes == 64);
  CHECK(leaks.ignored_objects == 2);
  CHECK(leaks.ignored_bytes == 132);
}

TEST_CASE("only what is leaked in both of two looks is told") {
  LeakBuilder before;
  before.add(kText, 64).add(kText, 64, {}, false).add(kText, 48).add(kText, 16);
  LeakBuilder after;
  after.add(kText, 64).add(kText, 64).add(kText, 32).add(kText, 16, {}, false);
  const auto leaks =
      analyze::find_leaks(after.snapshot(), {.ignored = {}, .confirmed_by = &before.snapshot()});
  CHECK(leaks.objects == 1);  // the others were alive, had another size, or are alive now
  CHECK(leaks.rows.at(0).example == 0);
  CHECK(leaks.unconfirmed_objects == 2);
}

TEST_CASE("a long list is one leak, and needs no recursion") {
  LeakBuilder build;
  constexpr snapshot::ObjectIndex kLength = 300'000;
  for (snapshot::ObjectIndex i = 0; i < kLength; ++i) {
    build.add(kEntry, 32, {(i + 1) % kLength});
  }
  const auto leaks = analyze::find_leaks(build.snapshot());
  CHECK(leaks.leaks == 1);
  CHECK(leaks.objects == kLength);
}

TEST_CASE("of two heaps, only malloc's objects leak, also those that garbage references") {
  LeakBuilder build;
  build.add(kList, 32, {1});         // garbage of the collector, which references the next object
  build.add(kText, 100, {0});        // malloc's, and references the garbage
  build.add(kText, 64, {}, false);   // malloc's, and alive
  build.add(kEntry, 48, {}, false);  // the collector's, and alive
  build.snapshot().heaps.insert(build.snapshot().heaps.begin(), snapshot::Heap{});
  for (const std::size_t at : {1U, 2U}) build.snapshot().objects[at].heap = 1;
  const auto leaks = analyze::find_leaks(build.snapshot());
  CHECK(leaks.allocated == 2);
  CHECK(leaks.leaks == 1);
  CHECK(leaks.objects == 1);
  CHECK(leaks.bytes == 100);
  REQUIRE(leaks.rows.size() == 1);
  CHECK(leaks.rows[0].example == 1);
  CHECK_FALSE(leaks.rows[0].is_cycle);
}

}  // namespace heapattach
