#include "report/model/counts.h"

#include <doctest/doctest.h>

#include "symbols/boehm/source.h"
#include "symbols/malloc/source.h"
#include "tests/support/small_snapshot.h"

namespace heapattach::snapshot {

namespace {

// Two Sessions, three Strings, an unknown object and one dead Session.
Snapshot sample() {
  SnapshotBuilder build;
  const auto session = build.type("Session");
  const auto text = build.type("String");
  const auto unknown = build.type("(unknown)", false);
  build.object(0x1000, session, 48);
  build.object(0x1030, session, 48);
  build.object(0x1060, session, 48).is_reachable = 0;
  for (std::uint64_t i = 0; i < 3; ++i) build.object(0x2000 + 32 * i, text, 32);
  build.object(0x3000, unknown, 4096);
  Heap heap;
  heap.heap_bytes = 65536;
  heap.free_bytes = 32768;
  build.snapshot.heaps = {heap};
  return build.snapshot;
}

}  // namespace

TEST_CASE("live and unreachable bytes add up to what the collector has in use") {
  const CountTable table = count_objects(sample());
  CHECK(table.objects == 6);
  CHECK(table.bytes == 2 * 48 + 3 * 32 + 4096);
  CHECK(table.typed_bytes == 2 * 48 + 3 * 32);
  CHECK(table.in_use_bytes() == 65536 - 32768);
  CHECK(table.bytes + table.unreachable_bytes + *table.free_bytes == *table.heap_bytes);
  REQUIRE(table.rows.size() == 3);
  CHECK(table.rows[0] == CountRow{"(unknown)", 1, 4096, true});
  CHECK(table.rows[1] ==
        CountRow{"String", 3, 96, true});  // as many bytes as Session, more objects
  CHECK(table.rows[2] == CountRow{"Session", 2, 96, true});
}

TEST_CASE("without the collector's numbers the total is the sum of what was read") {
  Snapshot snapshot = sample();
  SUBCASE("none is known") {
    snapshot.heaps.clear();
  }
  SUBCASE("they contradict what was read") {
    snapshot.heaps[0].free_bytes = 65000;
  }
  SUBCASE("more is free than there is") {
    snapshot.heaps[0].free_bytes = 1U << 30;
  }
  const CountTable table = count_objects(snapshot);
  CHECK(table.unreachable_bytes == 48);
  CHECK(table.in_use_bytes() == table.bytes + 48);
}

TEST_CASE("of two heaps, each has its own totals, and the table those of both") {
  Snapshot snapshot = sample();
  Heap malloc;
  malloc.name = glibc::kHeapKind.name;
  malloc.heap_bytes = 8192;
  malloc.free_bytes = 1000;
  snapshot.heaps.push_back(malloc);
  snapshot.objects[1].heap = 1;  // a live Session
  snapshot.objects[2].heap = 1;  // the dead Session
  const CountTable table = count_objects(snapshot);
  REQUIRE(table.heaps.size() == 2);
  const HeapCount& of_collector = table.heaps[0];
  const HeapCount& of_malloc = table.heaps[1];
  CHECK(of_collector.kind == &boehm::kHeapKind);
  CHECK(of_malloc.kind == &glibc::kHeapKind);
  CHECK(of_collector.objects == 5);
  CHECK(of_collector.bytes == 48 + 3 * 32 + 4096);
  CHECK(of_collector.in_use_bytes() == 65536 - 32768);
  CHECK(of_malloc.objects == 1);
  CHECK(of_malloc.bytes == 48);
  CHECK(of_malloc.unreachable_bytes == 8192 - 1000 - 48);
  CHECK(table.objects == 6);
  CHECK(table.bytes == of_collector.bytes + of_malloc.bytes);
  CHECK(table.heap_bytes == 65536 + 8192);
  CHECK(table.free_bytes == 32768 + 1000);
  CHECK(table.bytes + table.unreachable_bytes + *table.free_bytes == *table.heap_bytes);
  CHECK(table.rows.size() == 3);
}

TEST_CASE(
    "what leaked is told apart from malloc's overhead, and counts among all that is unreachable") {
  Snapshot snapshot = sample();
  Heap malloc;
  malloc.name = glibc::kHeapKind.name;
  malloc.heap_bytes = 8192;
  malloc.free_bytes = 1000;
  malloc.leaked_bytes = 96;
  snapshot.heaps.push_back(malloc);
  snapshot.objects[1].heap = 1;  // a live Session
  const auto counted = [&] { return count_objects(snapshot); };
  CHECK_FALSE(counted().heaps[0].leaked_bytes.has_value());
  CHECK(counted().heaps[1].leaked_bytes == 96);
  CHECK(counted().heaps[1].overhead_bytes() == 8192 - 1000 - 48 - 96);
  CHECK(counted().leaked_bytes == 96);
  CHECK(counted().overhead_bytes == 8192 - 1000 - 48 - 96);
  SUBCASE("not by a file without the number that has live objects only") {
    snapshot.heaps[1].leaked_bytes.reset();
    CHECK_FALSE(counted().heaps[1].leaked_bytes.has_value());
    CHECK_FALSE(counted().leaked_bytes.has_value());
  }
  SUBCASE("by a file without the number that has all objects") {
    snapshot.heaps[1].leaked_bytes.reset();
    snapshot.header.live_only = false;
    snapshot.objects[2].heap = 1;  // the dead Session
    CHECK(counted().leaked_bytes == 48);
  }
  SUBCASE("never more than all that is unreachable") {
    snapshot.heaps[1].leaked_bytes = 1'000'000;
    CHECK(counted().overhead_bytes == 0);
  }
}

TEST_CASE("a sum over heaps is unknown if one of them does not know its share") {
  Snapshot snapshot = sample();
  snapshot.heaps.resize(3);
  snapshot.heaps[2].heap_bytes = 100;
  snapshot.objects[1].heap = 2;
  const CountTable table = count_objects(snapshot);
  REQUIRE(table.heaps.size() == 3);
  CHECK(table.heaps[1].objects == 0);
  CHECK(table.heaps[2].objects == 1);
  CHECK(table.heaps[2].unreachable_bytes == 100 - 48);
  CHECK_FALSE(table.heap_bytes.has_value());
  CHECK_FALSE(table.free_bytes.has_value());
  CHECK(table.unreachable_bytes == 32768 - (48 + 3 * 32 + 4096) + 100 - 48);
}

TEST_CASE("with --all, unreachable objects have separate rows") {
  Snapshot snapshot = sample();
  snapshot.header.live_only = false;
  const CountTable table = count_objects(snapshot);
  CHECK(table.rows.size() == 4);
  CHECK(table.rows.back() == CountRow{"Session", 1, 48, false});
  CHECK(table.objects == 6);
  CHECK(table.bytes == 2 * 48 + 3 * 32 + 4096);
}

TEST_CASE("types of one name are one row") {
  SnapshotBuilder build;
  build.object(0x1000, build.type("Foo"), 16);
  build.object(0x1010, build.type("Foo"), 16);
  const CountTable table = count_objects(build.snapshot);
  REQUIRE(table.rows.size() == 1);
  CHECK(table.rows[0] == CountRow{"Foo", 2, 32, true});
}

TEST_CASE(
    "a row that is added to one of its name adds objects and bytes, and changes nothing else") {
  CountRow row{"Foo", 2, 32, true, RowSizes{64, 48}, "a Bar?"};
  row += CountRow{"Foo", 3, 48, true, RowSizes{96, 80}, "a Baz?"};
  CHECK(row == CountRow{"Foo", 5, 80, true, RowSizes{64, 48}, "a Bar?"});
}

TEST_CASE("an empty heap has no counts") {
  const CountTable table = count_objects(SnapshotBuilder().snapshot);
  CHECK(table.rows.empty());
  CHECK(table.objects == 0);
}

TEST_CASE("counting in parallel loses and doubles nothing") {
  SnapshotBuilder build;
  for (int i = 0; i < 7; ++i) build.type("T" + std::to_string(i));
  const std::uint32_t count = 300001;
  for (std::uint32_t i = 0; i < count; ++i) build.object(0x1000 + 16 * i, i % 7, 16 + 16 * (i % 2));
  const CountTable table = count_objects(build.snapshot);
  std::uint64_t objects = 0;
  for (const CountRow& row : table.rows) {
    CHECK(row.objects == (row.type <= "T1" ? 42858 : 42857));  // 300001 = 7 * 42857 + 2
    objects += row.objects;
  }
  CHECK(objects == count);
  CHECK(table.bytes == count * 16ULL + (count / 2) * 16ULL);
}

TEST_CASE("rows are chosen by type, bytes and number, and omitted ones are counted") {
  RowChoice choice;
  SUBCASE("by type") {
    choice.types = {"S*"};
    const CountTable table = choose_rows(count_objects(sample()), choice);
    CHECK(table.rows.size() == 2);
    CHECK(table.left_out_rows == 1);
    CHECK(table.left_out_bytes == 4096);
    CHECK(table.bytes == 4288);  // the totals are still those of the heap
  }
  SUBCASE("by bytes") {
    choice.min_bytes = 97;
    CHECK(choose_rows(count_objects(sample()), choice).rows.size() == 1);
  }
  SUBCASE("by number, after sorting") {
    choice.top = 1;
    choice.sort = SortBy::Count;
    const CountTable table = choose_rows(count_objects(sample()), choice);
    REQUIRE(table.rows.size() == 1);
    CHECK(table.rows[0].type == "String");
    CHECK(table.left_out_objects == 3);
  }
  SUBCASE("by name") {
    choice.sort = SortBy::Name;
    const CountTable table = choose_rows(count_objects(sample()), choice);
    CHECK(table.rows[0].type == "(unknown)");
    CHECK(table.rows[2].type == "String");
  }
}

TEST_CASE("by holder, buffers count towards the type that they belong to") {
  SnapshotBuilder build;
  const auto array = build.type("Array(String)");
  const auto buffer = build.type("(buffer of Array(String))");
  build.snapshot.types[buffer].holder = "Array(String)";
  build.snapshot.types[buffer].typed_by = TypedBy::Referrer;
  const auto unknown = build.type("(unknown)", false);
  build.object(0x1000, array, 32);
  build.object(0x2000, buffer, 64);
  build.object(0x3000, unknown, 16);
  const CountTable by_type = count_objects(build.snapshot);
  CHECK(by_type.rows.size() == 3);
  CHECK(by_type.typed.header == 32);
  CHECK(by_type.typed.referrer == 64);
  CHECK(by_type.typed.unknown == 16);
  const CountTable by_holder = count_objects(build.snapshot, CountBy::Holder);
  REQUIRE(by_holder.rows.size() == 2);
  CHECK(by_holder.rows[0] == CountRow{"Array(String)", 2, 96, true});
  CHECK(by_holder.bytes == by_type.bytes);
}

}  // namespace heapattach::snapshot
