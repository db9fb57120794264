#include <algorithm>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "symbols/heap/heap.h"
#include "symbols/musl/heap.h"
#include "tests/fakes/fake_old_musl_heap.h"

namespace heapattach {

namespace {

std::vector<RemoteAddr> found_in(const musl::Heap& heap) {
  std::vector<RemoteAddr> found;
  for (const heap::Block& block : heap.index.blocks) found.push_back(block.start);
  return found;
}

bool has_problem(const musl::Heap& heap, std::string_view words) {
  return std::any_of(heap.problems.begin(), heap.problems.end(), [&](const std::string& problem) {
    return problem.find(words) != std::string::npos;
  });
}

// Checks that blocks are sorted and do not overlap, as their readers assume.
void check_disjoint(const musl::Heap& heap, const Capture& capture) {
  RemoteAddr done{0};
  for (const heap::Block& block : heap.index.blocks) {
    REQUIRE(block.start >= done);
    REQUIRE(block.object_bytes > 0);
    done = block.start + block.object_bytes;
  }
  const heap::Heap read(heap.index, musl::kShape, capture);
  REQUIRE(read.slots() == heap.index.blocks.size());
}

}  // namespace

TEST_CASE("the heap of musl's older malloc has the chunks in use, in segments and mappings") {
  FakeOldMuslHeap fake;
  const RemoteAddr first = fake.add(0x20);
  fake.add_free(0x60);
  const RemoteAddr second = fake.add(0x40);
  fake.add_free(0x60);
  const RemoteAddr third = fake.add(0xf00);  // to the end of the page
  fake.begin_segment();
  fake.add_free(0x2000);
  const RemoteAddr fourth = fake.add(0x1fe0);
  fake.begin_donated();
  const RemoteAddr donated = fake.add(0x200);
  fake.add_free(0x80);
  const RemoteAddr mapped = fake.add_mapped(60);
  const RemoteAddr aligned = fake.add_mapped(61, 0x4000);
  const RemoteAddr barely = fake.add_mapped(62, 64);
  const auto heap = fake.read();
  REQUIRE(heap);
  CHECK(heap->problems == std::vector<std::string>{});
  const auto found = found_in(*heap);
  for (const RemoteAddr at : {first, second, third, fourth, donated, mapped, aligned, barely}) {
    CAPTURE(at.value);
    CHECK(std::count(found.begin(), found.end(), at) == 1);
  }
  CHECK(heap->index.blocks.at(0).object_bytes == 0x10);
  CHECK(heap->account.free == 2 * 0x60 + 0x2000 + 0x80);
  CHECK(heap->account.parts == 3);
  CHECK(heap->account.mapped == 3);
  CHECK(heap->account.mapped_bytes == (60 + 61 + 62) * 4096);
  CHECK(heap->account.heap == fake.segment_bytes() + heap->account.mapped_bytes);
  check_disjoint(*heap, fake.capture());
}

TEST_CASE("free chunks and bins of musl's older malloc must be the same") {
  FakeOldMuslHeap fake;
  fake.add(0x20);
  for (int i = 0; i < 5; ++i) {
    fake.add_free(0x60);
    fake.add(0x20);
  }
  REQUIRE(fake.read()->problems.empty());
  SUBCASE("a thread has just taken one") {
    const RemoteAddr bin = FakeOldMuslHeap::kBins + 24 * 2 - 8;
    const RemoteAddr second{fake.peek(RemoteAddr{fake.peek(bin + 16)} + 16)};
    fake.poke(bin + 16, second.value);
    fake.poke(second + 24, bin.value);
    CHECK(fake.read_again(1)->problems.empty());
    CHECK(has_problem(*fake.read_again(0), "it lists 4 free chunks"));
  }
  SUBCASE("a segment was not found") {
    fake.poke(RemoteAddr{0x555555000010}, 0);
    CHECK(has_problem(*fake.read_again(), "of which 5 were not found"));
  }
  SUBCASE("a chunk is broken") {
    fake.poke(RemoteAddr{0x555555000010 + 0x20 + 0x60 + 8}, 0x1230);
    CHECK(has_problem(*fake.read_again(), "its chunks from 0x555555000010 on are broken"));
  }
}

TEST_CASE("each thread may be changing a bin of musl's older malloc") {
  FakeOldMuslHeap fake;
  for (std::uint64_t bytes = 0x40; bytes < 0x40 + 6 * 0x20; bytes += 0x20) {
    fake.add_free(bytes);
    fake.add(0x20);
  }
  REQUIRE(fake.read()->problems.empty());
  constexpr RemoteAddr kMarks = FakeOldMuslHeap::kBins - 8;
  fake.poke(kMarks, fake.peek(kMarks) ^ 0x1e);  // the marks of four bins
  CHECK(fake.read_again(4)->problems.empty());
  CHECK_FALSE(fake.read_again(3).has_value());
}

TEST_CASE(
    "data of musl's older malloc that anyone may have written gives disjoint blocks, or none") {
  std::uint64_t state = 1;
  const auto below = [&](std::uint64_t limit) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33) % limit;
  };
  FakeOldMuslHeap fake;
  for (int i = 0; i < 20; ++i) {
    fake.add(0x20);
    fake.add_free(0x40);
  }
  fake.begin_donated();
  fake.add(0x100);
  const RemoteAddr mapped = fake.add_mapped(3, 0x1000);
  REQUIRE(fake.read()->problems.empty());
  const std::vector<RemoteAddr> places{RemoteAddr{0x555555000010}, FakeOldMuslHeap::kBins - 8,
                                       RemoteAddr{mapped.value & ~std::uint64_t{0x1fff}}};
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const RemoteAddr at = places[below(places.size())] + 8 * below(200);
    const std::uint64_t before = fake.peek(at);
    const std::uint64_t like = fake.peek(places[below(places.size())] + 8 * below(200));
    const std::uint64_t word = below(2) == 0 ? like : before ^ std::uint64_t{1} << below(64);
    fake.poke(at, word);
    if (const auto heap = fake.read_again()) check_disjoint(*heap, fake.capture());
    if (below(4) != 0) fake.poke(at, before);
  }
}

}  // namespace heapattach
