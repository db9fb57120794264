#include "symbols/boehm/heap.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "symbols/heap/heap.h"
#include "symbols/heap/mark.h"
#include "tests/fakes/captured_heap.h"
#include "tests/fakes/fake_gc_heap.h"

namespace heapattach::boehm {

using namespace heap;
namespace {

TEST_CASE("every address in a small object belongs to it, whatever the size") {
  FakeGcHeap fake;
  std::vector<RemoteAddr> starts;
  for (const std::uint64_t bytes : {16U, 32U, 48U, 80U, 112U, 208U, 336U, 1360U, 2032U, 2048U}) {
    starts.push_back(fake.add_block({.object_bytes = bytes}));
  }
  const CapturedHeap captured(fake);
  const Heap& heap = captured.heap();
  for (std::uint32_t block = 0; block < heap.blocks().size(); ++block) {
    const std::uint64_t bytes = heap.blocks()[block].object_bytes;
    for (std::uint64_t offset = 0; offset < 4096; ++offset) {
      const auto ref = heap.resolve(starts[block].value + offset);
      if (offset / bytes < 4096 / bytes) {
        REQUIRE(ref.has_value());
        REQUIRE(ref->block == block);
        REQUIRE(ref->slot == offset / bytes);
      } else {
        REQUIRE_FALSE(ref.has_value());  // the rest after the last whole object
      }
    }
  }
}

TEST_CASE("a large object owns its first page and the rest up to its end") {
  FakeGcHeap fake;
  const RemoteAddr a = fake.add_block({.object_bytes = 3008});
  const RemoteAddr b = fake.add_block({.object_bytes = 9008});
  const CapturedHeap captured(fake);
  const Heap& heap = captured.heap();
  CHECK(heap.resolve(a.value + 3007) == ObjectRef{0, 0});
  CHECK(heap.resolve(a.value + 4095) == ObjectRef{0, 0});
  CHECK(heap.resolve(b.value) == ObjectRef{1, 0});
  CHECK(heap.resolve(b.value + 9007) == ObjectRef{1, 0});
  CHECK_FALSE(heap.resolve(b.value + 9008).has_value());
  CHECK_FALSE(heap.resolve(b.value + 3 * 4096).has_value());
  CHECK_FALSE(heap.resolve(a.value - 1).has_value());
}

TEST_CASE("beyond the first page of a block that ignores it nothing counts") {
  FakeGcHeap fake;
  const RemoteAddr a = fake.add_block({.object_bytes = 16'384, .flags = kIgnoreOffPage});
  const CapturedHeap captured(fake);
  CHECK(captured.heap().resolve(a.value + 4095).has_value());
  CHECK_FALSE(captured.heap().resolve(a.value + 4096).has_value());
}

TEST_CASE("free blocks, gaps and wild numbers belong to no object") {
  FakeGcHeap fake;
  const RemoteAddr a = fake.add_block({.object_bytes = 32});
  const RemoteAddr free = fake.add_block({.object_bytes = 4096, .flags = kFreeBlock});
  const RemoteAddr b = fake.add_block({.object_bytes = 32, .at = a + 20 * 4096});
  const CapturedHeap captured(fake);
  const Heap& heap = captured.heap();
  CHECK(heap.resolve(b.value).has_value());
  const std::vector<std::uint64_t> words = {0,
                                            1,
                                            free.value,
                                            free.value + 4095,
                                            a.value + 10 * 4096,
                                            b.value + 4096,
                                            a.value - 4096,
                                            a.value + (1ULL << 22),
                                            a.value + (1ULL << 33),
                                            a.value | 1ULL << 47,
                                            ~0ULL};
  for (const std::uint64_t word : words) {
    CHECK_FALSE(heap.resolve(word).has_value());
  }
}

TEST_CASE("a heap may be in one place or in parts that lie far apart") {
  constexpr std::uint64_t kChunk = std::uint64_t{1} << 22;
  for (const std::uint64_t chunks : {1U, 3U, 60U, 100U, 5000U, 1U << 16}) {
    CAPTURE(chunks);
    FakeGcHeap fake;
    const RemoteAddr far = FakeGcHeap::kHeap + chunks * kChunk;
    fake.add_memory(far, 4096);
    const RemoteAddr a = fake.add_block({.object_bytes = 32});
    fake.add_block({.object_bytes = 64, .at = far});
    fake.put(a, far + 128);
    fake.put(far + 128, a + 40);
    const CapturedHeap captured(fake);
    const Heap& heap = captured.heap();
    CHECK(heap.resolve(a.value + 40) == ObjectRef{0, 1});
    CHECK(heap.resolve(far.value + 129) == ObjectRef{1, 2});
    for (std::uint64_t at = kChunk / 2; at < std::min<std::uint64_t>(chunks, 200) * kChunk;
         at += kChunk / 2) {
      REQUIRE_FALSE(heap.resolve(a.value + at).has_value());
      REQUIRE_FALSE(heap.resolve(far.value - at).has_value());
    }
    CHECK_FALSE(heap.resolve(a.value - 1).has_value());
    CHECK_FALSE(heap.resolve(far.value + 4096).has_value());
    const ObjectSet none(heap);
    Marker marker(heap, none, 2);
    marker.trace({}, std::vector<ObjectRef>{{0, 0}});
    CHECK(std::move(marker).take_live().count() == 3);
  }
}

TEST_CASE("without interior pointers only the first word counts, except on stacks") {
  FakeGcHeap fake;
  fake.layout().all_interior_pointers = false;
  const RemoteAddr a = fake.add_block({.object_bytes = 48});
  const RemoteAddr large = fake.add_block({.object_bytes = 8192});
  const CapturedHeap captured(fake);
  const Heap& heap = captured.heap();
  CHECK(heap.resolve(a.value + 96) == ObjectRef{0, 2});
  CHECK(heap.resolve(a.value + 97) == ObjectRef{0, 2});  // tagged, as ecl's lists are
  CHECK_FALSE(heap.resolve(a.value + 104).has_value());
  CHECK(heap.resolve(a.value + 104, Heap::From::Stack) == ObjectRef{0, 2});
  CHECK(heap.resolve(large.value) == ObjectRef{1, 0});
  CHECK_FALSE(heap.resolve(large.value + 8).has_value());
}

TEST_CASE("objects are numbered densely, and numbers map back to addresses") {
  FakeGcHeap fake;
  const RemoteAddr a = fake.add_block({.object_bytes = 1024});
  const RemoteAddr b = fake.add_block({.object_bytes = 5000 / 16 * 16});
  const RemoteAddr c = fake.add_block({.object_bytes = 2048});
  const CapturedHeap captured(fake);
  const Heap& heap = captured.heap();
  CHECK(heap.slots() == 4 + 1 + 2);
  CHECK(heap.number({1, 0}) == 4);
  CHECK(heap.number({2, 1}) == 6);
  CHECK(heap.address({0, 3}) == a + 3072);
  CHECK(heap.address({1, 0}) == b);
  CHECK(heap.object_at(c.value + 2048) == ObjectRef{2, 1});
  CHECK_FALSE(heap.object_at(c.value + 2047).has_value());
}

TEST_CASE("only the beginning of large objects without pointers is copied") {
  FakeGcHeap fake;
  const RemoteAddr a = fake.add_block({.object_bytes = 16, .kind = kAtomic});
  const RemoteAddr b = fake.add_block({.object_bytes = 20'480, .kind = kAtomic});
  const RemoteAddr c = fake.add_block({.object_bytes = 8192});
  const CapturedHeap captured(fake);
  const auto plan = plan_copy(captured.index(), fake.layout());
  REQUIRE(plan.size() == 2);
  CHECK(plan[0] == Range{a, 8192});
  CHECK(plan[1] == Range{c, 8192});
  CHECK(captured.heap().contents({1, 0}).size() == 4096);
  CHECK(captured.heap().contents({2, 0}).size() == 8192);
  CHECK(captured.heap().address({1, 0}) == b);
}

TEST_CASE("a descriptor selects the words that are edges") {
  FakeGcHeap fake;
  const RemoteAddr target = fake.add_block({.object_bytes = 4096});
  const auto edges_of = [&](std::uint64_t descriptor, std::uint64_t last_word) {
    const RemoteAddr block =
        fake.add_block({.object_bytes = 64, .kind = 5, .descriptor = descriptor});
    for (std::uint64_t i = 0; i < 8; ++i) fake.put(block + i * 8, target);
    if (last_word != 0) fake.put(block + 56, last_word);
    const CapturedHeap captured(fake);
    std::vector<std::uint64_t> offsets;
    const auto ref = captured.heap().object_at(block.value);
    REQUIRE(ref.has_value());
    captured.heap().for_each_edge(*ref, [&](std::uint64_t offset_words, ObjectRef to) {
      CHECK(captured.heap().address(to) == target);
      offsets.push_back(offset_words);
    });
    return offsets;
  };
  using Offsets = std::vector<std::uint64_t>;
  constexpr std::uint64_t kTop = std::uint64_t{1} << 63;

  CHECK(edges_of(0, 0) == Offsets{});
  CHECK(edges_of(24, 0) == Offsets{0, 1, 2});
  CHECK(edges_of(std::uint64_t{1} << 40, 0).size() == 8);  // longer than the object
  CHECK(edges_of(kTop | kTop >> 2 | 1, 0) == Offsets{0, 2});
  CHECK(edges_of(~std::uint64_t{3} | 1, 0).size() == 8);
  CHECK(edges_of(0x42 << 2 | 2, 0).size() == 8);  // a procedure: the whole object
  CHECK(edges_of(56 | 3, 16) == Offsets{0, 1});   // the descriptor is the object's last word
  CHECK(edges_of(56 | 3, kTop >> 4 | 1) == Offsets{4});
  CHECK(edges_of(4096 | 3, 0).size() == 8);     // beyond the object
  CHECK(edges_of(56 | 3, 56 | 3).size() == 7);  // points to itself
  // By the first word: it points to the target object, whose words are 0.
  CHECK(edges_of(~std::uint64_t{0} - 0x40 + 1 + 3, 0) == Offsets{});
}

TEST_CASE("hidden words are not edges") {
  FakeGcHeap fake;
  const RemoteAddr a = fake.add_block({.object_bytes = 64});
  for (std::uint64_t i = 0; i < 16; ++i) fake.put(a + i * 8, a);
  CapturedHeap captured(fake);
  captured.heap().hide({{a + 8, 16}, {a + 40, 32}});
  std::vector<std::uint64_t> offsets;
  const auto note = [&](std::uint64_t offset_words, ObjectRef) { offsets.push_back(offset_words); };
  captured.heap().for_each_edge({0, 0}, note);
  captured.heap().for_each_edge({0, 1}, note);
  CHECK(offsets == std::vector<std::uint64_t>{0, 3, 4, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("an empty heap has no objects") {
  FakeGcHeap fake;
  const CapturedHeap captured(fake);
  CHECK(captured.heap().slots() == 0);
  CHECK_FALSE(captured.heap().resolve(FakeGcHeap::kHeap.value).has_value());
}

}  // namespace
}  // namespace heapattach::boehm
