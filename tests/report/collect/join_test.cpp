#include "report/collect/join.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "report/model/counts.h"
#include "report/typing/block_ranges.h"
#include "report/typing/naming.h"
#include "symbols/boehm/heap.h"
#include "symbols/boehm/marking_rules.h"
#include "tests/fakes/captured_heap.h"
#include "tests/fakes/fake_gc_heap.h"
#include "tests/fakes/fake_memory.h"

namespace heapattach::snapshot {
namespace {

crystal::Type class_of(std::uint32_t id,
                       const std::string& name,
                       std::uint64_t bytes,
                       bool atomic) {
  crystal::Type type;
  type.id = id;
  type.name = name;
  type.instance_bytes = bytes;
  type.is_atomic = atomic;
  type.known_from = {crystal::KnownFrom::AllocationSite};
  return type;
}

// Checks that counting without a list has the same result as counting the listed objects.
void check_counts(const JoinSources& sources, const heap::ObjectSet& live, const Snapshot& listed) {
  Snapshot snapshot;
  join_counts(sources, live, snapshot);
  CHECK(snapshot.objects.empty());
  snapshot.header.live_only = false;
  Snapshot with_list;
  with_list.header.live_only = false;
  with_list.types = listed.types;
  with_list.sizes = listed.sizes;
  with_list.objects = listed.objects;
  const CountTable counts = count_objects(snapshot);
  const CountTable expected = count_objects(with_list);
  CHECK(counts.rows == expected.rows);
  CHECK(counts.objects == expected.objects);
  CHECK(counts.bytes == expected.bytes);
  CHECK(counts.unreachable_bytes == expected.unreachable_bytes);
}

// Joins the objects at the given addresses. All but those in `unreachable` are live.
Snapshot join(const heap::Heap& heap,
              const Capture& capture,
              const crystal::TypeTable& classes,
              const std::vector<RemoteAddr>& objects,
              const std::vector<RemoteAddr>& unreachable) {
  heap::ObjectSet listed(heap);
  for (const RemoteAddr at : objects) listed.insert(heap.number(*heap.object_at(at.value)));
  heap::ObjectSet live = listed;
  for (const RemoteAddr at : unreachable) listed.insert(heap.number(*heap.object_at(at.value)));
  const cxx::VtableNames vtables{std::vector<Symbol>{}};
  const Naming naming(classes, vtables);
  const types::TypeModel model;
  TypeRows rows(naming, model);
  const ObjectOrder order(heap, listed);
  const Typing typing(heap, order, capture, rows, {});
  Snapshot snapshot;
  const JoinSources sources{heap, order, rows, typing};
  join_objects(sources, live, snapshot);
  join_edges(sources, snapshot);
  check_counts(sources, live, snapshot);
  return snapshot;
}

Snapshot join(const CapturedHeap& captured,
              const crystal::TypeTable& classes,
              const std::vector<RemoteAddr>& objects,
              const std::vector<RemoteAddr>& unreachable = {}) {
  return join(captured.heap(), captured.capture(), classes, objects, unreachable);
}

std::string type_at(const Snapshot& snapshot, RemoteAddr at) {
  for (const Object& object : snapshot.objects) {
    if (object.address == at.value) return snapshot.types[object.type].name;
  }
  return "(not listed)";
}

TEST_CASE("edges of reachable objects can be left out") {
  FakeGcHeap fake;
  const RemoteAddr block = fake.add_block({.object_bytes = 32});
  fake.put(block, (block + 64).value);       // from a live object to a live one
  fake.put(block + 32, (block + 96).value);  // from an unreachable object to another one
  fake.put(block + 40, block.value);         // from the same object to a live one
  const CapturedHeap captured(fake);
  const heap::Heap& heap = captured.heap();
  heap::ObjectSet live(heap);
  heap::ObjectSet listed(heap);
  for (const std::uint64_t at : {0U, 32U, 64U, 96U}) {
    const std::uint64_t number = heap.number(*heap.object_at((block + at).value));
    listed.insert(number);
    if (at == 0 || at == 64) live.insert(number);
  }
  const cxx::VtableNames vtables{std::vector<Symbol>{}};
  const crystal::TypeTable classes;
  const Naming naming(classes, vtables);
  const types::TypeModel model;
  TypeRows rows(naming, model);
  const ObjectOrder order(heap, listed);
  const Typing typing(heap, order, captured.capture(), rows, {});
  for (const bool of_unreachable : {false, true}) {
    Snapshot snapshot;
    const JoinSources sources{heap, order, rows, typing};
    join_objects(sources, live, snapshot);
    join_edges(sources, snapshot, of_unreachable);
    REQUIRE(snapshot.objects.size() == 4);
    CHECK(snapshot.edges_of(0).size() == (of_unreachable ? 0 : 1));
    REQUIRE(snapshot.edges_of(1).size() == 2);
    CHECK(snapshot.edges_of(1)[0].to == 3);
    CHECK(snapshot.edges_of(1)[1].to == 0);
    CHECK(snapshot.edges_of(3).empty());
  }
}

TEST_CASE("listed objects come in address order, with size, kind and reachability") {
  FakeGcHeap fake;
  const RemoteAddr small = fake.add_block({.object_bytes = 32});
  const RemoteAddr large = fake.add_block({.object_bytes = 12288, .kind = heap::kAtomic});
  const CapturedHeap captured(fake);
  const Snapshot snapshot = join(captured, {}, {large, small + 64}, {small});
  REQUIRE(snapshot.objects.size() == 3);
  CHECK(snapshot.objects[0].address == small.value);
  CHECK(snapshot.objects[0].is_reachable == 0);
  CHECK(snapshot.objects[1].address == (small + 64).value);
  CHECK(snapshot.objects[1].is_reachable == 1);
  CHECK(snapshot.bytes_of(snapshot.objects[1]) == 32);
  CHECK(snapshot.bytes_of(snapshot.objects[2]) == 12288);
  CHECK(snapshot.objects[2].object_kind() == ObjectKind::Atomic);
}

TEST_CASE("objects that are alike are counted together") {
  FakeGcHeap fake;
  const RemoteAddr small = fake.add_block({.object_bytes = 32});
  const RemoteAddr other = fake.add_block({.object_bytes = 32});
  const RemoteAddr large = fake.add_block({.object_bytes = 64});
  const CapturedHeap captured(fake);
  const heap::Heap& heap = captured.heap();
  heap::ObjectSet live(heap);
  heap::ObjectSet listed(heap);
  const auto add = [&](RemoteAddr at, bool is_live) {
    const std::uint64_t number = heap.number(*heap.object_at(at.value));
    listed.insert(number);
    if (is_live) live.insert(number);
  };
  for (std::uint64_t i = 0; i < 5; ++i) add(small + 32 * i, true);
  for (std::uint64_t i = 0; i < 3; ++i) add(other + 32 * i, i == 0);
  add(large, true);
  const crystal::TypeTable classes;
  const cxx::VtableNames vtables{std::vector<Symbol>{}};
  const Naming naming(classes, vtables);
  const types::TypeModel model;
  TypeRows rows(naming, model);
  const ObjectOrder order(heap, listed);
  const Typing typing(heap, order, captured.capture(), rows, {});
  Snapshot snapshot;
  join_counts({heap, order, rows, typing}, live, snapshot);
  std::map<std::pair<std::uint64_t, bool>, std::uint64_t> found;
  for (const Alike& group : snapshot.alike) {
    const std::uint64_t bytes = snapshot.bytes_of(group.object);
    found[{bytes, group.object.is_reachable != 0}] += group.count;
  }
  const std::map<std::pair<std::uint64_t, bool>, std::uint64_t> expected{
      {{32, true}, 6}, {{32, false}, 2}, {{64, true}, 1}};
  CHECK(found == expected);
}

TEST_CASE("edges connect listed objects, from inside to inside, in offset order") {
  FakeGcHeap fake;
  const RemoteAddr a = fake.add_block({.object_bytes = 32});
  fake.put(a + 8, a + 32 + 5);  // points into the middle of the second object
  fake.put(a + 24, a);          // points to the object itself
  fake.put(a + 32, a + 64);     // points to an object that is not listed
  const CapturedHeap captured(fake);
  const Snapshot snapshot = join(captured, {}, {a, a + 32});
  REQUIRE(snapshot.first_edge.size() == 3);
  CHECK(snapshot.first_edge[1] == 2);
  CHECK(snapshot.first_edge[2] == 2);
  REQUIRE(snapshot.edges.size() == 2);
  CHECK(snapshot.edges[0].offset_words == 1);
  CHECK(snapshot.edges[0].to == 1);
  CHECK(snapshot.edges[1].offset_words == 3);
  CHECK(snapshot.edges[1].to == 0);
}

// The arrays are typed (GC_calloc_explicitly_typed), and each is in a block of its own. An element
// has `kReach` references, and the next one begins one word later, so most words are scanned
// several times.
TEST_CASE("arrays with more edges than words are joined in order, by all workers") {
  constexpr std::uint64_t kArrays = 3 * kBlocksAtATime;
  constexpr std::uint64_t kBytes = 4096;
  constexpr std::uint64_t kElements = 400;
  constexpr std::uint64_t kReach = 4;
  constexpr std::uint64_t kProcedure = 9;
  constexpr RemoteAddr kDescription{0x7f12'3300'0000};
  FakeMemory memory;
  memory.map_zero(FakeGcHeap::kHeap, kArrays * kBytes);
  memory.map_zero(kDescription, kBytes);
  // Describes a run of elements: the size of one, their number, and a bitmap of their references.
  const std::uint64_t bitmap = ~std::uint64_t{0} << (64 - kReach) | boehm::kByBitmap;
  std::uint64_t at = 0;
  for (const std::uint64_t word : {std::uint64_t{1}, std::uint64_t{8}, kElements, bitmap}) {
    memory.put(kDescription + 8 * at++, word);
  }
  heap::BlockIndex index;
  index.blocks.push_back({kDescription, kBytes, kBytes, 1, heap::kNormal, 0});
  std::vector<RemoteAddr> arrays;
  const auto array = [](std::uint64_t i) { return FakeGcHeap::kHeap + i % kArrays * kBytes; };
  for (std::uint64_t i = 0; i < kArrays; ++i) {
    arrays.push_back(array(i));
    index.blocks.push_back(
        {array(i), kBytes, kProcedure << 2 | boehm::kByProcedure, 1, /*kind=*/6, 0});
    for (std::uint64_t word = 0; word + 1 < kBytes / 8; ++word) {
      memory.put(array(i) + word * 8, array(i + word));
    }
    memory.put(array(i) + kBytes - 8, kDescription);
  }
  Capture capture(Arena::reserve(kArrays * kBytes * 2, 0).value());
  const std::vector<Range> all{{kDescription, kBytes}, {FakeGcHeap::kHeap, kArrays * kBytes}};
  REQUIRE(capture.add(memory, all, {}));
  heap::Heap heap = boehm::make_heap(index, FakeGcHeap().layout(), capture);
  boehm::MarkingRules rules;
  rules.array_procedure = kProcedure;
  boehm::follow(heap, std::move(rules));
  const Snapshot snapshot = join(heap, capture, {}, arrays, {});
  // The last word is an edge to the description, which is an object that is not listed.
  constexpr std::uint64_t kEdges = kElements * kReach;
  REQUIRE(kEdges > kBytes / 8);
  REQUIRE(snapshot.edges.size() == kArrays * kEdges);
  bool are_right = true;
  for (std::uint64_t i = 0; i < kArrays; ++i) {
    are_right = are_right && snapshot.first_edge[i] == i * kEdges;
    for (std::uint64_t edge = 0; edge < kEdges; ++edge) {
      const std::uint64_t word = edge / kReach + edge % kReach;
      const Edge& found = snapshot.edges[i * kEdges + edge];
      are_right = are_right && found.offset_words == word && found.to == (i + word) % kArrays;
    }
  }
  CHECK(are_right);
}

TEST_CASE("the order of objects counts earlier ones, even across words of the set") {
  FakeGcHeap fake;
  const RemoteAddr block = fake.add_block({.object_bytes = 16});
  const CapturedHeap captured(fake);
  heap::ObjectSet listed(captured.heap());
  for (const std::uint64_t number : {0U, 63U, 64U, 200U}) listed.insert(number);
  const ObjectOrder order(captured.heap(), listed);
  CHECK(order.size() == 4);
  CHECK(order.rank(0) == 0);
  CHECK(order.rank(63) == 1);
  CHECK(order.rank(64) == 2);
  CHECK(order.rank(201) == 4);
  CHECK(order.rank(100000) == 4);
  CHECK(order.index_of(*captured.heap().object_at((block + 16 * 200).value)) == 3);
  CHECK_FALSE(order.index_of(*captured.heap().object_at((block + 16).value)).has_value());
}

TEST_CASE("a buffer of small integers is not an instance once an array points to it") {
  crystal::TypeTable classes;
  CHECK(classes.add(class_of(7, "Array(Int32)", 24, false)));
  CHECK(classes.add(class_of(9, "Point", 12, true)));
  FakeGcHeap fake;
  const RemoteAddr arrays = fake.add_block({.object_bytes = 32});
  const RemoteAddr numbers = fake.add_block({.object_bytes = 16, .kind = heap::kAtomic});
  fake.put(numbers, std::uint64_t{9});       // looks like a Point
  fake.put(numbers + 16, std::uint64_t{9});  // is a Point
  fake.put(arrays, std::uint64_t{7});

  SUBCASE("pointed to at its start") {
    fake.put(arrays + 16, numbers);
  }
  SUBCASE("pointed to inside, after a shift") {
    fake.put(arrays + 16, numbers + 4);
  }
  const CapturedHeap captured(fake);
  const Snapshot snapshot = join(captured, classes, {arrays, numbers, numbers + 16});
  CHECK(type_at(snapshot, arrays) == "Array(Int32)");
  CHECK(type_at(snapshot, numbers) == "(buffer of Array(Int32))");
  CHECK(type_at(snapshot, numbers + 16) == "Point");
}

TEST_CASE("data that looks like an array inside a buffer makes no claims about other objects") {
  crystal::TypeTable classes;
  CHECK(classes.add(class_of(7, "Array(Int32)", 24, false)));
  CHECK(classes.add(class_of(9, "Point", 12, true)));
  FakeGcHeap fake;
  const RemoteAddr arrays = fake.add_block({.object_bytes = 32});
  const RemoteAddr point = fake.add_block({.object_bytes = 16, .kind = heap::kAtomic});
  fake.put(point, std::uint64_t{9});
  fake.put(arrays, std::uint64_t{7});  // a real array
  fake.put(arrays + 16, arrays + 32);
  fake.put(arrays + 32, std::uint64_t{7});  // its buffer looks like an array, and points to a Point
  fake.put(arrays + 48, point);
  const CapturedHeap captured(fake);
  const Snapshot snapshot = join(captured, classes, {arrays, arrays + 32, point});
  CHECK(type_at(snapshot, arrays + 32) == "(buffer of Array(Int32))");
  CHECK(type_at(snapshot, point) == "Point");
}

TEST_CASE("an object without a Crystal header is named by its vtable") {
  FakeGcHeap fake;
  const RemoteAddr a = fake.add_block({.object_bytes = 32});
  fake.put(a, RemoteAddr{0x55550000'1010});
  const CapturedHeap captured(fake);
  const crystal::TypeTable classes;
  const std::vector<Symbol> symbols = {{"_ZTVN2ns5OrderE", RemoteAddr{0x55550000'1000}, 64, false}};
  const cxx::VtableNames vtables(symbols);
  const Naming naming(classes, vtables);
  const auto& block = captured.heap().blocks()[0];
  const auto ref = *captured.heap().object_at(a.value);
  CHECK(naming.types()[naming.type_of(block, captured.heap().contents(ref))].name == "ns::Order");
  const auto second = *captured.heap().object_at((a + 32).value);
  CHECK(naming.type_of(block, captured.heap().contents(second)) == Naming::unknown_of(block));
}

}  // namespace
}  // namespace heapattach::snapshot
