#include "symbols/boehm/source.h"

#include <doctest/doctest.h>

#include "tests/fakes/fake_gc_heap.h"

namespace heapattach::boehm {

using namespace heap;
namespace {

constexpr RemoteAddr kHeap = FakeGcHeap::kHeap;

TEST_CASE("a collector whose counters are at an unknown place has the heap that its index has") {
  FakeGcHeap heap;
  heap.add_block({.object_bytes = 48, .at = kHeap});
  heap.add_block({.object_bytes = 8192, .flags = kFreeBlock, .at = kHeap + 4096});
  Collector collector;
  collector.layout = heap.layout();
  const Modules modules{{}};
  const auto counters = [&] {
    const Surroundings target{modules, heap.memory(), heap.map()};
    return counters_or_blocks(boehm::Source(collector, target), target, ~std::uint64_t{0});
  };
  CHECK(counters().heap_bytes == 12'288);
  CHECK(counters().free_bytes == 8192);
  collector.heap_bytes = kHeap - 0x100000;
  heap.add_memory(*collector.heap_bytes, 4096);
  heap.put(*collector.heap_bytes, std::uint64_t{65'536});
  CHECK(counters().heap_bytes == 65'536);
}

}  // namespace
}  // namespace heapattach::boehm
