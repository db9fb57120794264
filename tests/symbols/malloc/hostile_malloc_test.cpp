// HAZARDS E3: structures of malloc that overlap, or whose links form circles.

#include <string_view>

#include <doctest/doctest.h>

#include "symbols/heap/heap.h"
#include "symbols/malloc/heap.h"
#include "tests/fakes/fake_malloc_heap.h"

namespace heapattach {

namespace {

bool has_problem(const glibc::Heap& heap, std::string_view words) {
  for (const std::string& problem : heap.problems) {
    if (problem.find(words) != std::string::npos) return true;
  }
  return false;
}

// Checks that chunks do not overlap, as their readers assume.
void check_disjoint(const glibc::Heap& heap, const Capture& capture) {
  RemoteAddr done{0};
  for (const heap::Block& block : heap.index.blocks) {
    CHECK(block.start >= done);
    done = block.start + block.object_bytes;
  }
  const heap::Heap read(heap.index, glibc::kShape, capture);
  CHECK(read.slots() == heap.index.blocks.size());
}

}  // namespace

TEST_CASE("the heaps of an arena are walked once each, wherever their links lead") {
  for (const MallocRelease& release : malloc_releases()) {
    CAPTURE(release.name);
    FakeMallocHeap fake(release);
    fake.add(0x20);
    SUBCASE("to the first one") {
      fake.add_arena();
      const auto heap = fake.read();
      REQUIRE(heap);
      CHECK(heap->problems == std::vector<std::string>{});
      CHECK(heap->index.blocks.size() == 3);
      check_disjoint(*heap, fake.capture());
    }
    SUBCASE("in a circle") {
      fake.add_arena(FakeMallocHeap::kSecondHeap);
      const auto heap = fake.read();
      REQUIRE(heap);
      CHECK(has_problem(*heap, "a heap that overlaps another"));
      CHECK(heap->index.blocks.size() == 2);
      check_disjoint(*heap, fake.capture());
    }
  }
}

TEST_CASE("a mapped chunk does not reach into an arena's heap") {
  FakeMallocHeap fake(malloc_releases().at(4));
  fake.add(0x20);
  fake.add_mapped(0x21000);
  fake.add_arena();
  fake.poke(FakeMallocHeap::kFirstHeap - 0x1000 + 8, 0x3000 | 2);
  const auto heap = fake.read();
  REQUIRE(heap);
  CHECK(heap->index.blocks.size() == 4);
  check_disjoint(*heap, fake.capture());
}

}  // namespace heapattach
