#include "symbols/boehm/structure_search.h"

#include <doctest/doctest.h>

#include "symbols/boehm/blocks.h"
#include "symbols/boehm/collector.h"
#include "symbols/elf/module_contents.h"
#include "tests/fakes/fake_gc_heap.h"

namespace heapattach::boehm {

namespace {

constexpr RemoteAddr kData = FakeGcHeap::kTopIndex;

// A stripped program whose .bss is the given range.
Module program_with_data(const Range& data) {
  auto contents = std::make_unique<Module::Contents>();
  contents->path = contents->name = "program";
  contents->is_main_program = true;
  contents->segments.push_back({data, true, false});
  return Module(std::move(contents));
}

struct SmallHeap : FakeGcHeap {
  SmallHeap() {
    for (int i = 0; i < 20; ++i) add_block({.object_bytes = 32});
    add_block({.object_bytes = 64, .kind = heap::kAtomic});
  }
};

}  // namespace

TEST_CASE("the block index is found by its shape") {
  SmallHeap heap;
  const Module program = program_with_data({kData, 2048 * 8});
  const auto layout = search_structure(program, heap.memory(), heap.map());
  REQUIRE(layout);
  CHECK(layout->source == Layout::Source::Structure);
  CHECK(layout->top_index.value == FakeGcHeap::kTopIndex.value);
  CHECK(layout->all_nils.value == FakeGcHeap::kAllNils.value);
  CHECK(layout->header_block == heap.layout().header_block);
  CHECK(layout->header_kind == heap.layout().header_kind);
  CHECK(layout->header_size == heap.layout().header_size);
  CHECK(layout->header_descriptor == heap.layout().header_descriptor);
}

TEST_CASE("data that only resembles a block index is not found") {
  SmallHeap heap;
  Range data{kData, 2048 * 8};
  SUBCASE("one slot holds something else") {
    heap.put(kData + 77 * 8, kData);
  }
  SUBCASE("one slot is empty") {
    heap.put(kData + 2047 * 8, std::uint64_t{0});
  }
  SUBCASE("the data ends before the index") {
    data.bytes -= 8;
  }
  SUBCASE("the empty index is not empty") {
    heap.put(FakeGcHeap::kAllNils + 64, kData);
  }
  SUBCASE("the chain is a ring") {
    const RemoteAddr bottom = heap.bottom_of(FakeGcHeap::kHeap);
    heap.put(bottom + heap.layout().bottom_next, bottom);
  }
  SUBCASE("the headers name no blocks") {
    for (std::uint64_t i = 0; i < FakeGcHeap::kMaxHeaders; ++i) {
      heap.put(FakeGcHeap::kHeaders + i * FakeGcHeap::kHeaderBytes + 0x10, std::uint64_t{8});
    }
  }
  const Module program = program_with_data(data);
  CHECK_FALSE(search_structure(program, heap.memory(), heap.map()));
}

TEST_CASE("a block index with a few slots that do not fit may fit at the next look") {
  SmallHeap heap;
  const Module program = program_with_data({kData, 2048 * 8});
  const auto kind_with_wrong_slots = [&](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) heap.put(kData + (2047 - i) * 8, kData);
    const auto found = search_structure(program, heap.memory(), heap.map());
    REQUIRE_FALSE(found);
    return found.error().kind;
  };
  CHECK(kind_with_wrong_slots(1) == ErrorKind::Malformed);
  CHECK(kind_with_wrong_slots(16) == ErrorKind::Malformed);
  CHECK(kind_with_wrong_slots(17) == ErrorKind::Unsupported);
}

TEST_CASE("headers of a release before 7 have sizes in words, and free blocks a map of their own") {
  FakeGcHeap heap;
  heap.use_word_headers();
  const RemoteAddr odd = heap.add_block({.object_bytes = 24});
  heap.add_block({.object_bytes = 64, .kind = heap::kAtomic});
  const RemoteAddr large = heap.add_block({.object_bytes = 4104});
  const RemoteAddr free = heap.add_block({.object_bytes = 8192, .flags = kFreeBlock});
  const Module program = program_with_data({kData, 2049 * 8});
  const auto layout = search_structure(program, heap.memory(), heap.map());
  REQUIRE(layout);
  REQUIRE(layout->word_headers);
  CHECK(layout->word_headers->free_map == FakeGcHeap::kMaps);
  CHECK_FALSE(layout->all_interior_pointers);
  CHECK(layout->granule_bytes() == 8);

  const auto index = read_blocks(heap.memory(), heap.map(), *layout);
  REQUIRE(index);
  CHECK(index->skipped == 0);
  REQUIRE(index->blocks.size() == 3);
  CHECK(index->blocks[0].start == odd);
  CHECK(index->blocks[0].object_bytes == 24);
  CHECK(index->blocks[0].objects == 170);
  CHECK(index->blocks[2].start == large);
  CHECK(index->blocks[2].object_bytes == 4104);
  CHECK(index->free == std::vector<Range>{{free, 8192}});
  CHECK(index->free_bytes == 8192);
}

TEST_CASE("headers that name no blocks are not those of an old release without its map") {
  FakeGcHeap heap;
  heap.use_word_headers();
  heap.add_block({.object_bytes = 24});
  Range data{kData, 2049 * 8};
  SUBCASE("one offset in the map counts") {
    heap.put(FakeGcHeap::kMaps + 100, std::uint8_t{0});
  }
  SUBCASE("no variable has its address") {
    data.bytes -= 8;
  }
  SUBCASE("the sizes are in bytes") {
    heap.put(heap.header_of(FakeGcHeap::kHeap), std::uint64_t{24});
  }
  const Module program = program_with_data(data);
  CHECK_FALSE(search_structure(program, heap.memory(), heap.map()));
}

TEST_CASE("a collector without symbols is found, and its unknown facts are none") {
  SmallHeap heap;
  std::vector<Module> modules;
  modules.push_back(program_with_data({kData, 2048 * 8}));
  const auto found = find_collector(Modules(std::move(modules)), heap.memory(), heap.map());
  REQUIRE(found);
  CHECK(found->module == "program");
  CHECK(found->version.empty());
  CHECK_FALSE(found->heap_bytes);
  CHECK_FALSE(read_counters(*found, heap.memory()).collecting);
}

TEST_CASE("a program without a collector is unsupported, and the error lists what was searched") {
  FakeMemory memory;
  memory.map_zero(kData, 4096);
  std::vector<Module> modules;
  modules.push_back(program_with_data({kData, 4096}));
  const auto found = find_collector(Modules(std::move(modules)), memory, MemoryMap());
  REQUIRE_FALSE(found);
  CHECK(found.error().kind == ErrorKind::Unsupported);
  CHECK(found.error().message().find("GC_size") != std::string::npos);
  CHECK(found.error().message().find("list of blocks") != std::string::npos);
}

}  // namespace heapattach::boehm
