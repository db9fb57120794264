#include "symbols/boehm/check_layout.h"

#include <doctest/doctest.h>

#include "tests/fakes/fake_gc_heap.h"

namespace heapattach::boehm {

namespace {

struct SmallHeap : FakeGcHeap {
  SmallHeap() {
    for (std::uint64_t bytes = 16; bytes <= 512; bytes *= 2) {
      add_block({.object_bytes = bytes});
      add_block({.object_bytes = bytes, .kind = heap::kAtomic});
    }
    add_block({.object_bytes = 16384});
  }
};

// Checks that the layout is refused, with an error of this kind that contains `word`.
void check_refused(FakeGcHeap& heap, ErrorKind kind, std::string_view word) {
  const auto fit = check_layout(heap.layout(), heap.memory(), heap.map());
  REQUIRE_FALSE(fit);
  CHECK(fit.error().kind == kind);
  CHECK_MESSAGE(fit.error().message().find(word) != std::string::npos, fit.error().message());
}

}  // namespace

TEST_CASE("the layout that the heap has fits") {
  SmallHeap heap;
  const auto fit = check_layout(heap.layout(), heap.memory(), heap.map());
  REQUIRE(fit);
  CHECK(fit->headers == 13);
  CHECK(fit->misfits == 0);
  CHECK(find_block_field(heap.layout(), heap.memory()).value() == 0x10);
}

TEST_CASE("a layout with a wrong offset is refused, and the mismatch is reported") {
  SmallHeap heap;
  SUBCASE("of the block") {
    heap.layout().header_block = 0x18;
    check_refused(heap, ErrorKind::Malformed, "names");
  }
  SUBCASE("of the size") {
    heap.layout().header_size = 0x30;
    check_refused(heap, ErrorKind::Malformed, "size");
  }
  SUBCASE("of the descriptor") {
    heap.layout().header_descriptor = 0x10;
    check_refused(heap, ErrorKind::Malformed, "descriptor");
  }
  SUBCASE("of the key") {
    heap.layout().bottom_key = 0x2008;
    check_refused(heap, ErrorKind::Malformed, "key");
  }
  SUBCASE("of the index") {
    heap.layout().top_index = FakeGcHeap::kTopIndex + 8;
    check_refused(heap, ErrorKind::Malformed, "is in slot");
  }
}

TEST_CASE("numbers that no collector has are refused before they are used") {
  SmallHeap heap;
  SUBCASE("a shift beyond the word") {
    heap.layout().top_shift = 200;
  }
  SUBCASE("a mask of all bits") {
    heap.layout().bottom_mask = ~std::uint64_t{0};
  }
  SUBCASE("a top index without end") {
    heap.layout().top_mask = ~std::uint64_t{0} >> 8;
  }
  SUBCASE("blocks of one byte") {
    heap.layout().block_shift = 0;
  }
  SUBCASE("fields far away") {
    heap.layout().header_size = ~std::uint64_t{7};
  }
  SUBCASE("a kind far away") {
    heap.layout().header_kind = 1 << 30;
  }
  check_refused(heap, ErrorKind::Malformed, "do not match");
}

TEST_CASE("a heap without blocks does not refute the layout") {
  FakeGcHeap heap;
  SUBCASE("initialised") {}
  SUBCASE("not initialised") {
    for (std::uint64_t i = 0; i <= heap.layout().top_mask; ++i) {
      heap.put(FakeGcHeap::kTopIndex + i * 8, std::uint64_t{0});
    }
    heap.layout().all_nils = {};
  }
  SUBCASE("with free blocks only") {
    const RemoteAddr block = heap.add_block({.object_bytes = 8192, .flags = kFreeBlock});
    heap.put(heap.header_of(block) + heap.layout().header_block, std::uint64_t{0});
  }
  const auto fit = check_layout(heap.layout(), heap.memory(), heap.map());
  REQUIRE(fit);
  CHECK(fit->misfits == 0);
  const auto field = find_block_field(heap.layout(), heap.memory());
  REQUIRE(field);
  CHECK(*field == 0x10);
}

TEST_CASE("the header of a free block need not name it") {
  SmallHeap heap;
  const RemoteAddr block = heap.add_block({.object_bytes = 8192, .flags = kFreeBlock});
  heap.put(heap.header_of(block) + heap.layout().header_block, std::uint64_t{0});
  const auto fit = check_layout(heap.layout(), heap.memory(), heap.map());
  REQUIRE(fit);
  CHECK(fit->misfits == 0);
}

TEST_CASE("a block in a file's memory does not fit") {
  SmallHeap heap;
  std::vector<Mapping> mappings = heap.map().mappings();
  for (Mapping& mapping : mappings) {
    if (mapping.range.contains(FakeGcHeap::kHeap)) mapping.inode = 4711;
  }
  const auto fit = check_layout(heap.layout(), heap.memory(), MemoryMap(std::move(mappings)));
  REQUIRE_FALSE(fit);
  CHECK(fit.error().message().find("anonymous") != std::string::npos);
}

}  // namespace heapattach::boehm
