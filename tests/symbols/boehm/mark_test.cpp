#include "symbols/heap/mark.h"

#include <doctest/doctest.h>

#include "symbols/boehm/heap.h"
#include "symbols/heap/mark_by_parts.h"
#include "tests/fakes/captured_heap.h"
#include "tests/fakes/fake_gc_heap.h"

namespace heapattach::boehm {

using namespace heap;
namespace {

std::vector<RemoteAddr> addresses_of(const Heap& heap, const ObjectSet& set) {
  std::vector<RemoteAddr> addresses;
  for_each_object(heap, set, 0, static_cast<std::uint32_t>(heap.blocks().size()),
                  [&](ObjectRef ref) { addresses.push_back(heap.address(ref)); });
  CHECK(set.count() == addresses.size());
  return addresses;
}

// The addresses of what is reachable from `words`, with one worker, two and five, and part by part.
std::vector<RemoteAddr> trace(const CapturedHeap& captured,
                              std::vector<std::uint64_t> words,
                              const std::vector<RemoteAddr>& never = {}) {
  const Heap& heap = captured.heap();
  ObjectSet excluded(heap);
  for (const RemoteAddr at : never) excluded.insert(heap.number(*heap.object_at(at.value)));
  const RootWords root{std::as_bytes(std::span(words))};
  std::vector<RemoteAddr> found;
  for (const unsigned workers : {1U, 2U, 5U}) {
    Marker marker(heap, excluded, workers);
    marker.trace({&root, 1}, {});
    const ObjectSet live = std::move(marker).take_live();
    std::vector<RemoteAddr> addresses = addresses_of(heap, live);
    if (workers > 1) CHECK(addresses == found);
    found = std::move(addresses);
  }
  for (const std::uint64_t part_bytes : {1U, 10'000U, 1U << 30}) {
    ObjectSet live = excluded;
    mark_by_parts(heap, live, {&root, 1}, {}, part_bytes);
    live.remove(excluded);
    CHECK(addresses_of(heap, live) == found);
  }
  return found;
}

using Addresses = std::vector<RemoteAddr>;

TEST_CASE("everything that a root references is live, including rings and interior pointers") {
  FakeGcHeap fake;
  const RemoteAddr a = fake.add_block({.object_bytes = 32});
  fake.put(a, a + 64 + 7);  // points into the middle of the third object
  fake.put(a + 64 + 24, a);
  fake.put(a + 96, a);  // unreferenced
  const CapturedHeap captured(fake);
  CHECK(trace(captured, {a.value + 31}) == Addresses{a, a + 64});
  CHECK(trace(captured, {}).empty());
  CHECK(trace(captured, {0, ~0ULL, 17}).empty());
}

TEST_CASE("atomic objects are live but reference nothing") {
  FakeGcHeap fake;
  const RemoteAddr a = fake.add_block({.object_bytes = 32, .kind = kAtomic});
  const RemoteAddr b = fake.add_block({.object_bytes = 32});
  fake.put(a, b);
  const CapturedHeap captured(fake);
  CHECK(trace(captured, {a.value}) == Addresses{a});
}

TEST_CASE("objects on free lists are neither entered nor counted") {
  FakeGcHeap fake;
  const RemoteAddr a = fake.add_block({.object_bytes = 32});
  fake.put(a, a + 32);
  fake.put(a + 32, a + 64);
  const CapturedHeap captured(fake);
  CHECK(trace(captured, {a.value}, {a + 32}) == Addresses{a});
  CHECK(trace(captured, {a.value}) == Addresses{a, a + 32, a + 64});
}

TEST_CASE("a large object is scanned to its end") {
  FakeGcHeap fake(80);
  const RemoteAddr large = fake.add_block({.object_bytes = 70 * 4096});
  const RemoteAddr small = fake.add_block({.object_bytes = 16});
  for (std::uint64_t i = 0; i < 64; ++i) {
    fake.put(large + (i + 1) * 70 * 64 - 8, small + i * 16);  // the last of them in the last word
  }
  const CapturedHeap captured(fake);
  CHECK(trace(captured, {large.value + 5}).size() == 65);
}

TEST_CASE("a list as long as the heap needs no deep stack") {
  FakeGcHeap fake(60);
  std::vector<RemoteAddr> objects;
  for (int i = 0; i < 60; ++i) {
    const RemoteAddr block = fake.add_block({.object_bytes = 16});
    for (std::uint64_t slot = 0; slot < 256; ++slot) objects.push_back(block + slot * 16);
  }
  for (std::size_t i = 0; i + 1 < objects.size(); ++i) fake.put(objects[i], objects[i + 1]);
  const CapturedHeap captured(fake);
  CHECK(trace(captured, {objects[0].value}).size() == objects.size());
}

TEST_CASE("many workers agree on a tree that all of them walk") {
  FakeGcHeap fake(60);
  std::vector<RemoteAddr> objects;
  for (int i = 0; i < 60; ++i) {
    const RemoteAddr block = fake.add_block({.object_bytes = 32});
    for (std::uint64_t slot = 0; slot < 128; ++slot) objects.push_back(block + slot * 32);
  }
  for (std::size_t i = 1; i < objects.size(); ++i) {
    fake.put(objects[(i - 1) / 3] + (i - 1) % 3 * 8, objects[i]);
  }
  const CapturedHeap captured(fake);
  CHECK(trace(captured, {objects[0].value}).size() == objects.size());
}

TEST_CASE("workers that own different parts agree on a graph that joins them all") {
  constexpr std::uint64_t kBlocks = 120;
  constexpr std::uint64_t kEach = 64;  // objects of a block, of eight words
  FakeGcHeap fake(kBlocks);
  std::vector<RemoteAddr> objects;
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    const RemoteAddr block = fake.add_block({.object_bytes = 64});
    for (std::uint64_t slot = 0; slot < kEach; ++slot) objects.push_back(block + slot * 64);
  }
  std::uint64_t random = 88172645463325252U;
  std::vector<std::vector<std::size_t>> edges(objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    for (std::uint64_t word = 0; word < i % 4; ++word) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      const std::size_t to = (random >> 33) % objects.size();
      edges[i].push_back(to);
      fake.put(objects[i] + word * 8, objects[to] + (random >> 60));
    }
  }
  std::vector<bool> is_reached(objects.size());
  std::vector<std::size_t> waiting = {1, 2, 3};
  while (!waiting.empty()) {
    const std::size_t at = waiting.back();
    waiting.pop_back();
    if (is_reached[at]) continue;
    is_reached[at] = true;
    waiting.insert(waiting.end(), edges[at].begin(), edges[at].end());
  }
  Addresses expected;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (is_reached[i]) expected.push_back(objects[i]);
  }
  CHECK(expected.size() > objects.size() / 4);
  const CapturedHeap captured(fake);
  CHECK(trace(captured, {objects[1].value, objects[2].value, objects[3].value}) == expected);
}

TEST_CASE("more roots can be added to what was traced") {
  FakeGcHeap fake;
  const RemoteAddr a = fake.add_block({.object_bytes = 32});
  fake.put(a + 32, a + 64);
  const CapturedHeap captured(fake);
  const Heap& heap = captured.heap();
  const ObjectSet never(heap);
  Marker marker(heap, never, 2);
  const ObjectRef first{0, 0};
  const ObjectRef second{0, 1};
  marker.trace({}, {&first, 1});
  CHECK(marker.is_live(first));
  CHECK_FALSE(marker.is_live(second));
  marker.trace({}, {&second, 1});
  CHECK(std::move(marker).take_live().count() == 3);
}

TEST_CASE("blocks that were not copied are live and unscanned") {
  FakeGcHeap fake;
  const RemoteAddr a = fake.add_block({.object_bytes = 32});
  const auto index = read_blocks(fake.memory(), fake.map(), fake.layout()).value();
  const Capture nothing(Arena::reserve(4096, 0).value());
  const Heap heap = make_heap(index, fake.layout(), nothing);
  CHECK(heap.unreadable_blocks() == 1);
  CHECK(heap.contents({0, 0}).empty());
  const ObjectSet never(heap);
  Marker marker(heap, never, 1);
  const std::uint64_t word = a.value;
  const RootWords root{std::as_bytes(std::span(&word, 1))};
  marker.trace({&root, 1}, {});
  CHECK(std::move(marker).take_live().count() == 1);
}

}  // namespace
}  // namespace heapattach::boehm
