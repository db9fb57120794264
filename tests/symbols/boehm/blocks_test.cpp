#include "symbols/boehm/blocks.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "symbols/boehm/bounded_blocks.h"
#include "symbols/heap/blocks.h"
#include "tests/fakes/fake_gc_heap.h"

namespace heapattach::boehm {

using namespace heap;
namespace {

constexpr RemoteAddr kHeap = FakeGcHeap::kHeap;

BlockIndex read(FakeGcHeap& heap) {
  auto index = read_blocks(heap.memory(), heap.map(), heap.layout());
  REQUIRE(index.has_value());
  return std::move(index).value();
}

TEST_CASE("blocks in use are listed by address, with their objects") {
  FakeGcHeap heap;
  heap.add_block({.object_bytes = 48, .at = kHeap + 8 * 4096});
  heap.add_block({.object_bytes = 16, .kind = kAtomic, .at = kHeap});
  heap.add_block({.object_bytes = 10'000, .at = kHeap + 4096});

  const BlockIndex index = read(heap);
  REQUIRE(index.blocks.size() == 3);
  CHECK(index.blocks[0].start == kHeap);
  CHECK(index.blocks[0].objects == 256);
  CHECK(index.blocks[0].is_atomic());
  CHECK(index.blocks[0].descriptor == 0);
  CHECK(index.blocks[1].objects == 1);
  CHECK(index.blocks[1].object_bytes == 10'000);
  CHECK(index.blocks[2].objects == 85);
  CHECK(index.blocks[2].descriptor == 48);
  CHECK(index.used_bytes == 5 * 4096);
  CHECK(index.free_bytes == 0);
  CHECK(index.skipped == 0);
}

TEST_CASE("free blocks are counted and not listed, wherever they are") {
  FakeGcHeap heap;
  heap.add_block({.object_bytes = 8192, .flags = kFreeBlock, .at = kHeap});
  heap.put(heap.header_of(kHeap) + heap.layout().header_block, std::uint64_t{0});  // never used yet
  heap.add_block({.object_bytes = 4096,
                  .flags = kFreeBlock | kWasUnmapped,
                  .at = RemoteAddr{0x7f12'3480'0000}});
  const BlockIndex index = read(heap);
  CHECK(index.blocks.empty());
  CHECK(index.free_bytes == 12'288);
  CHECK(index.unmapped_bytes == 4096);
  CHECK(index.skipped == 0);
}

TEST_CASE("there are no more headers than fit in the memory that the process has") {
  FakeGcHeap heap;
  for (int i = 0; i < 60; ++i) heap.add_block({.object_bytes = 32});
  const auto index = read_bounded_blocks(heap.memory(), heap.map(), heap.layout(), 1000);
  REQUIRE(index.has_value());
  CHECK(index->blocks.size() >= 10);
  CHECK(index->blocks.size() <= 1000 / 40 + 1);
  CHECK(index->skipped > 0);
  REQUIRE_FALSE(index->misfits.empty());
  CHECK(index->misfits.front().what == "more headers than there is memory for");
}

TEST_CASE("a block of a terabyte is dropped even if a terabyte is mapped") {
  constexpr std::uint64_t kTerabyte = std::uint64_t{1} << 40;
  const RemoteAddr start{std::uint64_t{0x10} << 40};
  FakeGcHeap heap;
  heap.add_block({.object_bytes = 32});
  heap.add_block({.object_bytes = 4096, .at = start});
  heap.put(heap.header_of(start) + heap.layout().header_size, kTerabyte);
  std::vector<Mapping> mappings = heap.map().mappings();
  mappings.front().range = {start, kTerabyte};
  const auto index = read_blocks(heap.memory(), MemoryMap(mappings), heap.layout());
  REQUIRE(index.has_value());
  CHECK(index->used_bytes < kTerabyte);
  CHECK(index->skipped == 1);
}

TEST_CASE("bottom indices that share a slot are found along their chain") {
  FakeGcHeap heap;
  const RemoteAddr far{kHeap.value - (std::uint64_t{2048} << 22)};
  heap.add_memory(far, 4096);
  heap.add_block({.object_bytes = 32, .at = kHeap});
  heap.add_block({.object_bytes = 64, .at = far});
  const BlockIndex index = read(heap);
  REQUIRE(index.blocks.size() == 2);
  CHECK(index.blocks[0].start == far);
  CHECK(index.blocks[1].start == kHeap);
}

TEST_CASE("a build without hash chains is addressed by the slot alone") {
  FakeGcHeap heap;
  heap.layout().has_hash_chain = false;
  heap.layout().top_mask = 0x7ff;
  const RemoteAddr low{0x0100'0000};  // below 2048 * 4 MiB
  heap.add_memory(low, 4096);
  heap.add_block({.object_bytes = 32, .at = low});
  const BlockIndex index = read(heap);
  REQUIRE(index.blocks.size() == 1);
  CHECK(index.blocks[0].start == low);
}

TEST_CASE("uncollectable blocks keep the bytes after the known part of their header") {
  FakeGcHeap heap;
  heap.add_block({.object_bytes = 4096});
  const RemoteAddr block = heap.add_block({.object_bytes = 32, .kind = kUncollectable});
  heap.set_mark(block, block + 64);
  const BlockIndex index = read(heap);
  REQUIRE(index.tails.size() == 1);
  CHECK(index.tails[0].block == 1);
  CHECK(index.tails[0].bytes[FakeGcHeap::kMarksAt - 0x30 + 4] == std::byte{1});
}

TEST_CASE("a false header is skipped and named, and the rest is still read") {
  FakeGcHeap heap;
  const RemoteAddr liar = heap.add_block({.object_bytes = 64});
  const RemoteAddr honest = heap.add_block({.object_bytes = 64});
  const RemoteAddr header = heap.header_of(liar);
  const Layout& layout = heap.layout();

  SUBCASE("about its block") {
    heap.put(header + layout.header_block, honest);
  }
  SUBCASE("with a size of 0") {
    heap.put(header + layout.header_size, std::uint64_t{0});
  }
  SUBCASE("with a size of 2^63") {
    heap.put(header + layout.header_size, std::uint64_t{1} << 63);
  }
  SUBCASE("with a size that wraps") {
    heap.put(header + layout.header_size, ~std::uint64_t{0} - 15);
  }
  SUBCASE("with a size that is not a multiple of the granule") {
    heap.put(header + layout.header_size, std::uint64_t{24 + 1});
  }
  SUBCASE("with a size that leaves the mapped memory") {
    heap.put(header + layout.header_size, std::uint64_t{1} << 30);
  }
  SUBCASE("with a size that reaches into the next block") {
    heap.put(header + layout.header_size, std::uint64_t{8192});
  }
  SUBCASE("as a free block of an odd size") {
    heap.put(header + layout.header_flags, std::uint8_t{kFreeBlock});
  }
  SUBCASE("by pointing nowhere") {
    heap.set_entry(liar, 0x1234'5678'9abc);
  }
  SUBCASE("by pointing to the end of the memory") {
    heap.set_entry(
        liar, FakeGcHeap::kHeaders.value + FakeGcHeap::kMaxHeaders * FakeGcHeap::kHeaderBytes - 8);
  }
  SUBCASE("by an odd address") {
    heap.set_entry(liar, header.value + 3);
  }

  const BlockIndex index = read(heap);
  REQUIRE(index.blocks.size() == 1);
  CHECK(index.blocks[0].start == honest);
  CHECK(index.skipped == 1);
  REQUIRE(index.misfits.size() == 1);
  CHECK(index.misfits[0].at == liar);
  CHECK_FALSE(index.misfits[0].what.empty());
}

TEST_CASE("false bottom indices do no harm") {
  FakeGcHeap heap;
  heap.add_block({.object_bytes = 64});
  const RemoteAddr bottom = heap.bottom_of(kHeap);
  const RemoteAddr slot = FakeGcHeap::kTopIndex + (kHeap.value >> 22 & 0x7ff) * 8;
  const Layout& layout = heap.layout();

  SUBCASE("a chain that goes in a circle") {
    heap.put(bottom + layout.bottom_next, bottom);
    CHECK(read(heap).blocks.size() == 1);
  }
  SUBCASE("a chain that points outside memory") {
    heap.put(bottom + layout.bottom_next, std::uint64_t{0xdead'beef'0000});
    const BlockIndex index = read(heap);
    CHECK(index.blocks.size() == 1);
    CHECK(index.skipped == 1);
  }
  SUBCASE("a slot that points outside memory") {
    heap.put(FakeGcHeap::kTopIndex, std::uint64_t{8});
    const BlockIndex index = read(heap);
    CHECK(index.blocks.size() == 1);
    CHECK(index.skipped == 1);
  }
  SUBCASE("a key of another slot") {
    heap.put(bottom + layout.bottom_key, std::uint64_t{12345});
    const BlockIndex index = read(heap);
    CHECK(index.blocks.empty());
    CHECK(index.skipped == 1);
  }
  SUBCASE("a key beyond the address space") {
    heap.put(bottom + layout.bottom_key, (kHeap.value >> 22 & 0x7ff) | std::uint64_t{1} << 60);
    CHECK(read(heap).blocks.empty());
  }
  SUBCASE("the same bottom index in every slot") {
    for (std::uint64_t i = 0; i < 2048; ++i) heap.put(FakeGcHeap::kTopIndex + i * 8, bottom);
    CHECK(read(heap).blocks.size() <= 1);
  }
  SUBCASE("a different piece of garbage in every slot") {
    // All entries point to bottom indices that overlap, more of them than can exist.
    heap.put(slot, FakeGcHeap::kAllNils);
    for (std::uint64_t i = 0; i < 2048; ++i) {
      heap.put(FakeGcHeap::kTopIndex + i * 8, FakeGcHeap::kHeap + i * 8);
    }
    CHECK(read(heap).blocks.empty());
  }
  SUBCASE("entries that all name one header") {
    for (std::uint64_t i = 0; i < 1024; ++i) {
      heap.put(bottom + i * 8, heap.header_of(kHeap));
    }
    const BlockIndex index = read(heap);
    REQUIRE(index.blocks.size() == 1);
    CHECK(index.blocks[0].start == kHeap);
    CHECK(index.skipped == 1023);
    CHECK(index.misfits.size() < 100);
  }
}

TEST_CASE("a heap with holes is read where there is memory") {
  FakeGcHeap heap;
  const RemoteAddr kept = heap.add_block({.object_bytes = 64});
  // The map has the addresses of a bottom index and of headers that cannot be read.
  const RemoteAddr hole = kHeap + (1U << 22);
  heap.add_memory(RemoteAddr{0x6000'0000'0000}, 0x10000);
  heap.memory().map(RemoteAddr{0x6000'0000'0000}, {});
  heap.put(heap.bottom_of(hole), std::uint64_t{0x6000'0000'0100});
  heap.put(FakeGcHeap::kTopIndex + 8, std::uint64_t{0x6000'0000'8000});
  const BlockIndex index = read(heap);
  REQUIRE(index.blocks.size() == 1);
  CHECK(index.blocks[0].start == kept);
  CHECK(index.skipped == 1);  // the header of zeros; the bottom index of zeros is as an empty one
}

TEST_CASE("pages that the collector has write-protected are heap, unreadable ones are not") {
  FakeGcHeap heap;
  heap.add_block({.object_bytes = 32});
  heap.add_block({.object_bytes = 3 * 4096});
  const RemoteAddr unreadable = heap.add_block({.object_bytes = 64});
  std::vector<Mapping> mappings;
  const MemoryMap map = heap.map();
  for (const Mapping& whole : map.mappings()) {
    // Each page has a mapping of its own, as if every other page were protected.
    for (std::uint64_t at = 0; at < whole.range.bytes; at += 4096) {
      Mapping page = whole;
      page.range = {whole.range.start + at, std::min<std::uint64_t>(4096, whole.range.bytes - at)};
      page.writable = at % 8192 != 0;
      page.readable = page.range.start != unreadable;
      mappings.push_back(page);
    }
  }
  const auto index = read_blocks(heap.memory(), MemoryMap(mappings), heap.layout());
  REQUIRE(index.has_value());
  REQUIRE(index->blocks.size() == 2);
  CHECK(index->blocks[1].start == kHeap + 4096);
  CHECK(index->skipped == 1);

  for (Mapping& page : mappings) page.inode = 7;  // pages of a file are not its heap
  const auto of_files = read_blocks(heap.memory(), MemoryMap(mappings), heap.layout());
  REQUIRE(of_files.has_value());
  CHECK(of_files->blocks.empty());
}

TEST_CASE("without a top index there is nothing to read") {
  FakeGcHeap heap;
  heap.layout().top_index = RemoteAddr{0x1000};
  const auto index = read_blocks(heap.memory(), heap.map(), heap.layout());
  REQUIRE_FALSE(index.has_value());
  CHECK(index.error().kind == ErrorKind::Fault);
}

TEST_CASE("a layout with impossible numbers is refused") {
  FakeGcHeap heap;
  SUBCASE("a shift of 0") {
    heap.layout().block_shift = 0;
  }
  SUBCASE("a shift of 200") {
    heap.layout().top_shift = 200;
  }
  SUBCASE("an invalid mask") {
    heap.layout().top_mask = 0x7fe;
  }
  SUBCASE("a huge top index") {
    heap.layout().top_mask = ~std::uint64_t{0};
  }
  SUBCASE("a field far away") {
    heap.layout().header_size = std::uint64_t{1} << 40;
  }
  const auto index = read_blocks(heap.memory(), heap.map(), heap.layout());
  REQUIRE_FALSE(index.has_value());
  CHECK(index.error().kind == ErrorKind::Malformed);
}

TEST_CASE("a collector that has no index yet has no blocks") {
  const auto index = read_blocks(FakeMemory(), MemoryMap(), Layout());
  REQUIRE(index);
  CHECK(index->blocks.empty());
  CHECK(index->skipped == 0);
}

}  // namespace
}  // namespace heapattach::boehm
