#include "symbols/musl/heap.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "symbols/heap/heap.h"
#include "symbols/musl/groups.h"
#include "tests/fakes/fake_musl_heap.h"

namespace heapattach {

namespace {

struct Found {
  RemoteAddr at;
  std::uint64_t bytes = 0;

  friend bool operator==(const Found&, const Found&) = default;
};

std::vector<Found> found_in(const musl::Heap& heap) {
  std::vector<Found> found;
  for (const heap::Block& block : heap.index.blocks) {
    found.push_back({block.start, block.object_bytes});
  }
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

TEST_CASE("the allocation at an address is found by the bytes before it") {
  FakeMuslHeap fake;
  const unsigned small = fake.add_group(2, 3, 30);
  const RemoteAddr at = fake.allocate(small, 1, 41);
  const RemoteAddr later = fake.allocate(small, 5, 10, 2);
  const RemoteAddr freed = fake.allocate(small, 6, 20);
  fake.release(small, 6);
  const RemoteAddr mapped = fake.allocate(fake.add_mapped(100), 0, 400'000);
  REQUIRE(fake.read());
  const glibc::Words words(fake.capture());
  const auto bytes_at = [&](RemoteAddr place, std::uint64_t secret) {
    const auto found = musl::allocation_at(words, musl::Context{.at = {}, .secret = secret}, place);
    return found ? std::optional(found->bytes) : std::nullopt;
  };
  CHECK(bytes_at(at, FakeMuslHeap::kSecret) == 41);
  CHECK(bytes_at(later, FakeMuslHeap::kSecret) == 10);
  CHECK(bytes_at(mapped, FakeMuslHeap::kSecret) == 400'000);
  CHECK_FALSE(bytes_at(freed, FakeMuslHeap::kSecret));
  CHECK_FALSE(bytes_at(at + 16, FakeMuslHeap::kSecret));
  CHECK_FALSE(bytes_at(at + 1, FakeMuslHeap::kSecret));
  CHECK_FALSE(bytes_at(RemoteAddr{0x1000}, FakeMuslHeap::kSecret));
  CHECK_FALSE(bytes_at(at, FakeMuslHeap::kSecret + 1));
}

TEST_CASE("musl's heap has the slots in use, with the sizes that the program asked for") {
  FakeMuslHeap fake;
  const unsigned small = fake.add_group(2, 3, 30);  // slots of 48 bytes
  const RemoteAddr full = fake.allocate(small, 0, 44);
  const RemoteAddr less = fake.allocate(small, 1, 41);
  const RemoteAddr least = fake.allocate(small, 2, 33);
  const RemoteAddr nothing = fake.allocate(small, 29, 0);
  const RemoteAddr later = fake.allocate(small, 5, 10, 2);
  fake.allocate(small, 6, 20);
  fake.release(small, 6);
  const unsigned large = fake.add_mapped(100);
  const RemoteAddr mapped = fake.allocate(large, 0, 400'000);
  const auto heap = fake.read();
  REQUIRE(heap);
  CHECK(heap->problems == std::vector<std::string>{});
  CHECK(found_in(*heap) ==
        std::vector<Found>{
            {full, 44}, {less, 41}, {least, 33}, {later, 10}, {nothing, 1}, {mapped, 400'000}});
  CHECK(heap->account.mapped == 1);
  CHECK(heap->account.mapped_bytes == 409'600);
  CHECK(heap->account.parts == 2);
  CHECK(heap->account.heap == 4096 + 409'600 + 4096);  // with the metas
  CHECK(heap->account.free == 25 * 48);
  CHECK(heap->index.used_bytes + heap->index.free_bytes == heap->account.heap);
  check_disjoint(*heap, fake.capture());
}

TEST_CASE("an allocation of musl's malloc is referenced by its last byte, and by none behind it") {
  FakeMuslHeap fake;
  const unsigned group = fake.add_group(2, 3, 30);
  const RemoteAddr first = fake.allocate(group, 0, 41);
  const RemoteAddr second = fake.allocate(group, 1, 0);
  const auto read = fake.read();
  REQUIRE(read);
  const heap::Heap heap(read->index, musl::kShape, fake.capture());
  CHECK(heap.resolve(first.value + 40) == heap.object_at(first.value));
  CHECK(heap.object_at(first.value).has_value());
  CHECK(heap.object_at(second.value).has_value());
  CHECK_FALSE(heap.resolve(second.value + 16).has_value());
}

TEST_CASE("memory that is aligned further than a slot's header can say is found") {
  FakeMuslHeap fake;
  const unsigned near = fake.add_mapped(40);
  const unsigned far = fake.add_mapped(600);
  const RemoteAddr first = fake.allocate(near, 0, 100, 0xff);
  const RemoteAddr second = fake.allocate(far, 0, 1000, 0x20005);
  const auto heap = fake.read();
  REQUIRE(heap);
  CHECK(heap->problems == std::vector<std::string>{});
  CHECK(found_in(*heap) == std::vector<Found>{{first, 100}, {second, 1000}});
}

TEST_CASE("groups are nested in slots of others, and the loader donates some") {
  FakeMuslHeap fake;
  const unsigned outer = fake.add_group(23, 127, 7);  // slots of 2,032 bytes
  const RemoteAddr before = fake.allocate(outer, 0, 2000);
  const unsigned middle = fake.add_nested(outer, 1, 11, 15, 8);  // slots of 240 bytes
  const RemoteAddr in_middle = fake.allocate(middle, 0, 236);
  const unsigned inner = fake.add_nested(middle, 1, 0, 1, 14);  // slots of 16 bytes
  const RemoteAddr in_inner = fake.allocate(inner, 13, 9);
  const RemoteAddr behind = fake.allocate(middle, 2, 230);
  const RemoteAddr after = fake.allocate(outer, 2, 1900);
  const unsigned donated = fake.add_donated(23, 127);
  const RemoteAddr in_donated = fake.allocate(donated, 0, 1999);
  fake.add_donated(3, 4);
  const auto heap = fake.read();
  REQUIRE(heap);
  CHECK(heap->problems == std::vector<std::string>{});
  CHECK(found_in(*heap) == std::vector<Found>{{before, 2000},
                                              {in_middle, 236},
                                              {in_inner, 9},
                                              {behind, 230},
                                              {after, 1900},
                                              {in_donated, 1999}});
  CHECK(heap->account.parts == 5);
  check_disjoint(*heap, fake.capture());
}

TEST_CASE("metas fill several areas, and free ones are counted") {
  FakeMuslHeap fake;
  const RemoteAddr first = fake.allocate(fake.add_group(2, 3, 30), 0, 40);
  fake.add_free_metas(20);
  fake.begin_area();
  const RemoteAddr second = fake.allocate(fake.add_group(2, 3, 20), 0, 40);
  const auto heap = fake.read();
  REQUIRE(heap);
  CHECK(heap->problems == std::vector<std::string>{});
  CHECK(found_in(*heap) == std::vector<Found>{{first, 40}, {second, 40}});
  SUBCASE("one that was just taken is no fault") {
    fake.poke(fake.first_area() + 24 + 40 + 8, fake.first_area().value + 24 + 3 * 40);
    CHECK(fake.read_again(1)->problems.empty());
    CHECK(has_problem(*fake.read_again(0), "free metas"));
  }
  SUBCASE("an area without the secret is none") {
    fake.poke(fake.first_area() + 8, fake.first_area().value + 0x2000);
    CHECK(has_problem(*fake.read_again(), "the list of its areas is broken"));
  }
  SUBCASE("areas in a circle are read once") {
    fake.poke(fake.first_area() + 8, fake.first_area().value);
    CHECK(has_problem(*fake.read_again(), "the list of its areas is broken"));
  }
}

TEST_CASE("a slot that a thread is just taking or freeing is no allocation") {
  FakeMuslHeap fake;
  const unsigned group = fake.add_group(2, 3, 30);
  fake.allocate(group, 0, 40);
  const RemoteAddr freed = fake.allocate(group, 1, 40);
  fake.poke(freed - 8, 0x0000ff0000000000);  // as free() begins
  fake.take(group, 2);
  const auto two = fake.read(2);
  REQUIRE(two);
  CHECK(two->problems == std::vector<std::string>{});
  CHECK(two->index.blocks.size() == 1);
  CHECK(has_problem(*fake.read_again(1), "2 slots in use contain no allocation"));
}

TEST_CASE("a group that a thread is just making has no allocations yet, and is no fault") {
  FakeMuslHeap fake;
  const unsigned whole = fake.add_group(2, 3, 30);
  const RemoteAddr kept = fake.allocate(whole, 0, 40);
  const unsigned made = fake.add_group(4, 5, 25);
  fake.poke(fake.at(made), 0);
  const auto heap = fake.read();
  REQUIRE(heap);
  CHECK(heap->problems == std::vector<std::string>{});
  CHECK(found_in(*heap) == std::vector<Found>{{kept, 40}});
  SUBCASE("there is one at a time") {
    fake.poke(fake.at(whole), 0);
    CHECK(has_problem(*fake.read_again(), "1 of its groups do not fit"));
  }
  SUBCASE("it is in no list") {
    fake.poke(fake.meta(made), fake.meta(whole).value);
    CHECK(has_problem(*fake.read_again(), "1 of its groups do not fit"));
  }
  SUBCASE("no slot of it is in use") {
    fake.poke(fake.meta(made) + 24, 0);
    CHECK(has_problem(*fake.read_again(), "1 of its groups do not fit"));
  }
}

TEST_CASE("musl's account of its slots must add up") {
  FakeMuslHeap fake;
  fake.add_group(2, 3, 30);
  fake.miscount(2, 7);
  const auto heap = fake.read();
  REQUIRE(heap);
  CHECK(has_problem(*heap, "it counts 37 slots of 48 bytes, and 30 were found"));
}

TEST_CASE("an allocation whose end was overwritten has all of its slot, and a problem is named") {
  FakeMuslHeap fake;
  const unsigned group = fake.add_group(6, 7, 20);  // slots of 112 bytes
  for (unsigned i = 0; i < 3; ++i) fake.overwrite_end(fake.allocate(group, i, 50), 112);
  const auto heap = fake.read();
  REQUIRE(heap);
  CHECK(has_problem(*heap, "the ends of 3 allocations were overwritten"));
  CHECK(heap->index.blocks.at(0).object_bytes == 108);
}

TEST_CASE("a group that does not lead back to its meta, or overlaps another, is left out") {
  FakeMuslHeap fake;
  const unsigned group = fake.add_group(2, 3, 30);
  fake.allocate(group, 0, 40);
  const unsigned other = fake.add_group(2, 3, 30);
  const RemoteAddr kept = fake.allocate(other, 0, 40);
  REQUIRE(fake.read());
  SUBCASE("it does not lead back") {
    fake.poke(fake.at(group), fake.meta(other).value);
  }
  SUBCASE("its masks have slots that it does not have") {
    fake.poke(fake.meta(group) + 24, ~std::uint64_t{0} << 32);
  }
  SUBCASE("a slot is both available and freed") {
    fake.poke(fake.meta(group) + 24, ~std::uint64_t{0});
  }
  SUBCASE("its mapping is too small") {
    fake.poke(fake.meta(group) + 32, 29 | 1 << 5 | 40 << 6 | 1 << 12);
  }
  SUBCASE("its size has no class") {
    fake.poke(fake.meta(group) + 32, 29 | 1 << 5 | 50 << 6 | 1 << 12);
  }
  SUBCASE("it is nested in nothing") {
    fake.poke(fake.meta(group) + 32, 29 | 1 << 5 | 2 << 6);
  }
  SUBCASE("it is where the other one is") {
    fake.poke(fake.meta(group) + 16, fake.at(other).value + 0x30);
    fake.poke(fake.at(other) + 0x30, fake.meta(group).value);
    fake.poke(fake.meta(group) + 32, 10 | 1 << 5 | 2 << 6);
  }
  const auto heap = fake.read_again();
  REQUIRE(heap);
  CHECK_FALSE(heap->problems.empty());
  CHECK(found_in(*heap) == std::vector<Found>{{kept, 40}});
  check_disjoint(*heap, fake.capture());
}

TEST_CASE("data of musl that anyone may have written gives disjoint blocks, or none") {
  std::uint64_t state = 1;
  const auto below = [&](std::uint64_t limit) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33) % limit;
  };
  FakeMuslHeap fake;
  const unsigned outer = fake.add_group(23, 127, 7);
  const unsigned inner = fake.add_nested(outer, 1, 11, 15, 8);
  const unsigned donated = fake.add_donated(23, 127);
  const unsigned large = fake.add_mapped(100);
  for (unsigned i = 0; i < 4; ++i) fake.allocate(inner, i, 100 + i);
  fake.allocate(donated, 0, 1000);
  fake.allocate(large, 0, 1000, 0x55);
  fake.add_free_metas(3);
  REQUIRE(fake.read()->problems.empty());
  const std::vector<RemoteAddr> places{fake.first_area(), fake.at(outer), fake.at(inner),
                                       fake.at(donated), fake.at(large)};
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const RemoteAddr at = places[below(places.size())] + 8 * below(60);
    const std::uint64_t before = fake.peek(at);
    const std::uint64_t like = fake.peek(places[below(places.size())] + 8 * below(60));
    const std::uint64_t word = below(2) == 0 ? like : before ^ std::uint64_t{1} << below(64);
    fake.poke(at, word);
    if (const auto heap = fake.read_again()) check_disjoint(*heap, fake.capture());
    if (below(4) != 0) fake.poke(at, before);
  }
}

}  // namespace heapattach
