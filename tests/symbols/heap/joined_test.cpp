#include "symbols/heap/joined.h"

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "symbols/boehm/heap.h"
#include "symbols/boehm/size_classes.h"
#include "symbols/boehm/source.h"
#include "symbols/heap/ranges.h"
#include "symbols/malloc/source.h"
#include "tests/fakes/fake_gc_heap.h"

namespace heapattach {

namespace {

std::vector<heap::Part> parts_of(const heap::BlockIndex& collector,
                                 const heap::BlockIndex& malloc) {
  return {{&boehm::kHeapKind, &collector, boehm::kSlotSizes},
          {&glibc::kHeapKind, &malloc, glibc::kShape.sizes}};
}

constexpr RemoteAddr kMalloc{0x5666'0000'0000};
constexpr std::uint64_t kMallocBytes = 0x4000;
constexpr RemoteAddr kGlobals{0x5677'0000'0000};  // the collector does not scan them

// A collector's heap, and allocations of malloc in other memory.
class TwoHeaps {
 public:
  TwoHeaps() {
    fake.add_memory(kMalloc, kMallocBytes);
    fake.add_memory(kGlobals, 0x100);
  }

  // The address that malloc returns for a chunk of this many bytes.
  RemoteAddr add_chunk(std::uint64_t chunk_bytes) {
    heap::Block block;
    block.start = next_;
    block.object_bytes = block.descriptor = chunk_bytes - 8;
    block.objects = 1;
    block.flags = heap::kChunk | heap::kSharedEnd;
    malloc_.blocks.push_back(block);
    next_ = next_ + chunk_bytes;
    return block.start;
  }

  // Joins the heaps; nothing may be added after this. `live` are the objects that the collector
  // finds alive.
  void join(std::initializer_list<RemoteAddr> live) {
    const auto index = boehm::read_blocks(fake.memory(), fake.map(), fake.layout()).value();
    REQUIRE(capture_.add(fake.memory(), boehm::plan_copy(index, fake.layout()), {}));
    const std::vector<Range> others{{kMalloc, kMallocBytes}, {kGlobals, 0x100}};
    REQUIRE(capture_.add(fake.memory(), others, {}));
    blocks_ = heap::join_blocks(parts_of(index, malloc_)).value();
    const heap::Heap own = boehm::make_heap(index, fake.layout(), capture_);
    heap::Shape shape = own.shape();
    shape.shares_pages = true;
    heap_.emplace(blocks_.index, shape, capture_, own.rules());
    heap::LiveSet found{heap::ObjectSet(own), heap::ObjectSet(own)};
    for (const RemoteAddr at : live) {
      const auto ref = own.object_at(at.value);
      found.live.insert(own.number(*ref));
      found.tables.push_back(*ref);
    }
    found_ = heap::renumber(std::move(found), own, *heap_, blocks_.places[0]);
    beside_ =
        heap::find_live_beside(*found_, *heap_, capture_, {{.range = {kGlobals, 0x100}}}, {}, 1);
  }

  [[nodiscard]] const heap::Heap& heap() const { return *heap_; }
  [[nodiscard]] const heap::LiveSet& found() const { return *found_; }
  [[nodiscard]] std::uint64_t start_of(std::uint64_t word) const {
    const auto ref = heap().resolve(word);
    return ref ? heap().address(*ref).value : 0;
  }
  // The objects that an object references, by the number of the word.
  [[nodiscard]] std::map<std::uint64_t, RemoteAddr> edges(RemoteAddr from) const {
    std::map<std::uint64_t, RemoteAddr> edges;
    heap().for_each_edge(*heap().object_at(from.value),
                         [&](std::uint64_t word, heap::ObjectRef to) {
                           CHECK(edges.try_emplace(word, heap().address(to)).second);
                         });
    return edges;
  }
  [[nodiscard]] bool is_reached(RemoteAddr at) const {
    return beside_->live.contains(heap().number(*heap().object_at(at.value)));
  }

  FakeGcHeap fake;

 private:
  heap::BlockIndex malloc_;
  RemoteAddr next_ = kMalloc + 16;
  Capture capture_{Arena::reserve(1U << 22, 0).value()};
  heap::JoinedBlocks blocks_;
  std::optional<heap::Heap> heap_;
  std::optional<heap::LiveSet> found_;
  std::optional<heap::LiveSet> beside_;
};

using Edges = std::map<std::uint64_t, RemoteAddr>;

}  // namespace

TEST_CASE("an address belongs to an object of the collector or to an allocation of malloc") {
  TwoHeaps both;
  const RemoteAddr node = both.fake.add_block({.object_bytes = 32});
  const RemoteAddr large = both.fake.add_block({.object_bytes = 8192});
  const RemoteAddr first = both.add_chunk(0x20);
  const RemoteAddr second = both.add_chunk(0x2000);
  const RemoteAddr third = both.add_chunk(0x20);
  both.join({});
  CHECK(both.start_of(node.value + 32 + 7) == node.value + 32);
  CHECK(both.start_of(large.value + 8191) == large.value);
  CHECK(both.start_of(first.value + 15) == first.value);
  CHECK(both.start_of(first.value + 16) == 0);  // the next chunk's header
  CHECK(both.start_of(second.value + 0x1000) == second.value);
  CHECK(both.start_of(third.value) == third.value);
  CHECK(both.heap().contents(*both.heap().resolve(third.value)).size() == 24);
  CHECK(both.heap().slots() == 128 + 1 + 3);
}

TEST_CASE("words that the collector does not scan reference malloc's memory, and only that") {
  TwoHeaps both;
  const RemoteAddr node = both.fake.add_block({.object_bytes = 64});
  const RemoteAddr atomic = both.fake.add_block({.object_bytes = 64, .kind = heap::kAtomic});
  const RemoteAddr partly = both.fake.add_block({.object_bytes = 32, .descriptor = 16});
  const RemoteAddr chunk = both.add_chunk(0x40);
  both.fake.put(node + 8, chunk);
  both.fake.put(node + 16, atomic);
  both.fake.put(atomic + 8, node);
  both.fake.put(atomic + 24, chunk + 8);
  both.fake.put(partly, node);
  both.fake.put(partly + 8, chunk);
  both.fake.put(partly + 16, node);
  both.fake.put(partly + 24, chunk);
  both.fake.put(chunk, node + 5);
  both.fake.put(chunk + 0x30, atomic);
  both.join({node});
  CHECK(both.edges(node) == Edges{{1, chunk}, {2, atomic}});
  CHECK(both.edges(atomic) == Edges{{3, chunk}});
  CHECK(both.edges(partly) == Edges{{0, node}, {1, chunk}, {3, chunk}});
  CHECK(both.edges(chunk) == Edges{{0, node}, {6, atomic}});
}

TEST_CASE(
    "malloc's memory is reachable through live objects of the collector, not through garbage") {
  TwoHeaps both;
  const RemoteAddr live = both.fake.add_block({.object_bytes = 32});
  const RemoteAddr dead = live + 32;
  const RemoteAddr atomic = both.fake.add_block({.object_bytes = 32, .kind = heap::kAtomic});
  const RemoteAddr by_live = both.add_chunk(0x20);
  const RemoteAddr by_atomic = both.add_chunk(0x20);
  const RemoteAddr by_dead = both.add_chunk(0x20);
  const RemoteAddr cycle = both.add_chunk(0x20);
  both.fake.put(live, by_live);
  both.fake.put(atomic + 8, by_atomic);
  both.fake.put(dead, by_dead);
  both.fake.put(dead + 8, cycle);
  both.fake.put(cycle, dead);
  both.join({live, atomic});
  CHECK(both.is_reached(by_live));
  CHECK(both.is_reached(by_atomic));
  CHECK_FALSE(both.is_reached(by_dead));
  CHECK_FALSE(both.is_reached(cycle));
  CHECK_FALSE(both.is_reached(dead));
  // Objects that the collector finds alive are not marked here.
  CHECK_FALSE(both.is_reached(live));
  CHECK(both.found().live.count() == 2);
  CHECK(both.heap().address(both.found().tables.at(1)) == atomic);
}

TEST_CASE("garbage that malloc's memory still references leads on, whatever the collector scans") {
  TwoHeaps both;
  const RemoteAddr node = both.fake.add_block({.object_bytes = 32});
  const RemoteAddr atomic = both.fake.add_block({.object_bytes = 32, .kind = heap::kAtomic});
  const RemoteAddr holder = both.add_chunk(0x20);
  const RemoteAddr held = both.add_chunk(0x20);
  const RemoteAddr last = both.add_chunk(0x20);
  both.fake.put(kGlobals + 8, holder);
  both.fake.put(holder, node);
  both.fake.put(node, held);
  both.fake.put(held, atomic);
  both.fake.put(atomic + 16, last);
  both.join({});
  CHECK(both.is_reached(held));
  CHECK(both.is_reached(last));
  CHECK(both.is_reached(node));
  CHECK(both.is_reached(atomic));
  CHECK(both.found().live.count() == 0);
}

TEST_CASE(
    "a chain through many objects that the collector does not scan takes one pass, not many") {
  TwoHeaps both;
  constexpr std::uint64_t kBlocks = 60;
  std::vector<RemoteAddr> chain;
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    const RemoteAddr block = both.fake.add_block({.object_bytes = 16, .kind = heap::kAtomic});
    for (std::uint64_t at = 0; at < 4096; at += 16) chain.push_back(block + at);
  }
  const RemoteAddr between = both.add_chunk(0x20);
  const RemoteAddr last = both.add_chunk(0x20);
  const RemoteAddr other = both.add_chunk(0x20);
  // Each object references the one before it in memory, so that a pass in the order of addresses
  // finds only one link.
  for (std::size_t i = chain.size() - 1; i > 0; --i) both.fake.put(chain[i] + 8, chain[i - 1]);
  const std::size_t middle = chain.size() / 2;
  both.fake.put(chain[middle] + 8, between);
  both.fake.put(between + 8, chain[middle - 1]);
  both.fake.put(chain[0], last);
  both.fake.put(kGlobals, chain.back());
  both.join({});
  CHECK(both.is_reached(chain[0]));
  CHECK(both.is_reached(between));
  CHECK(both.is_reached(last));
  CHECK_FALSE(both.is_reached(other));
}

TEST_CASE("what an object with a disclaim procedure references may yet be freed by it") {
  TwoHeaps both;
  const RemoteAddr block = both.fake.add_block({.object_bytes = 32, .flags = boehm::kHasDisclaim});
  const RemoteAddr by_object = both.add_chunk(0x20);
  const RemoteAddr by_free_slot = both.add_chunk(0x20);
  both.fake.put(block, std::uint64_t{0x4001});  // the procedure's closure, marked
  both.fake.put(block + 8, by_object);
  both.fake.put(block + 32, block + 64);  // the next free slot
  both.fake.put(block + 40, by_free_slot);
  both.join({});
  CHECK(both.is_reached(by_object));
  CHECK_FALSE(both.is_reached(by_free_slot));
}

TEST_CASE("malloc's memory is referenced by any address inside it, whatever the collector's rule") {
  TwoHeaps both;
  both.fake.layout().all_interior_pointers = false;
  const RemoteAddr node = both.fake.add_block({.object_bytes = 64});
  const RemoteAddr chunk = both.add_chunk(0x40);
  const RemoteAddr next = both.add_chunk(0x40);
  both.fake.put(kGlobals, chunk + 0x18);
  both.fake.put(chunk, next + 0x21);
  both.fake.put(chunk + 8, node + 0x18);
  both.join({});
  CHECK(both.is_reached(chunk));
  CHECK(both.is_reached(next));
  CHECK_FALSE(both.is_reached(node));
}

TEST_CASE("a slot may hold what its own heap puts into slots of that size") {
  constexpr std::uint64_t kSlot = 1024;
  constexpr std::uint64_t kRequest = 744;
  TwoHeaps both;
  const RemoteAddr object = both.fake.add_block({.object_bytes = kSlot});
  const RemoteAddr chunk = both.add_chunk(kSlot + 8);
  both.join({});
  for (const auto& [at, may_hold, spare] : {std::tuple(object, true, 1), {chunk, false, 0}}) {
    const auto ref = both.heap().object_at(at.value);
    REQUIRE(ref);
    const heap::Block& block = both.heap().blocks()[ref->block];
    CHECK(block.object_bytes == kSlot);
    CHECK(both.heap().sizes_of(block).may_hold(kSlot, kRequest) == may_hold);
    CHECK(both.heap().sizes_of(block).spare == static_cast<std::uint64_t>(spare));
  }
}

TEST_CASE("two heaps that overlap are refused by name") {
  FakeGcHeap fake;
  const RemoteAddr node = fake.add_block({.object_bytes = 48});  // 85 objects: not the whole page
  const auto index = boehm::read_blocks(fake.memory(), fake.map(), fake.layout()).value();
  heap::BlockIndex malloc;
  heap::Block chunk;
  chunk.objects = 1;
  chunk.object_bytes = 24;
  for (const RemoteAddr at : {node - 8, node + 4090}) {
    chunk.start = at;
    malloc.blocks = {chunk};
    const auto both = heap::join_blocks(parts_of(index, malloc));
    REQUIRE_FALSE(both);
    CHECK(both.error().kind == ErrorKind::Malformed);
    const std::string text = both.error().text();
    CHECK(text.find("the collector's") != std::string::npos);
    CHECK(text.find("malloc's") != std::string::npos);
    CHECK(text.find("--heap gc or --heap malloc") != std::string::npos);
  }
}

TEST_CASE("the collector's memory are its blocks in use and free, and the rest may be malloc's") {
  heap::BlockIndex index;
  heap::Block small;
  small.start = RemoteAddr{0x10000};
  small.object_bytes = 48;
  small.objects = 85;
  heap::Block large = small;
  large.start = RemoteAddr{0x14000};
  large.object_bytes = 0x1800;
  large.objects = 1;
  index.blocks = {small, large};
  index.free = {{RemoteAddr{0x11000}, 0x1000}};
  const std::vector<Range> memory = heap::memory_of(index);
  CHECK(memory == std::vector<Range>{{RemoteAddr{0x10000}, 0x2000}, {RemoteAddr{0x14000}, 0x2000}});
  CHECK(heap::without({RemoteAddr{0xf000}, 0x10000}, memory) ==
        std::vector<Range>{{RemoteAddr{0xf000}, 0x1000},
                           {RemoteAddr{0x12000}, 0x2000},
                           {RemoteAddr{0x16000}, 0x9000}});
  CHECK(heap::without({RemoteAddr{0x11000}, 0x1000}, memory).empty());
  CHECK(heap::without({RemoteAddr{0x20000}, 0x1000}, memory).size() == 1);
}

TEST_CASE("a page of slots may begin anywhere, and its slots may have any size") {
  heap::BlockIndex index;
  heap::Block slots;
  slots.start = RemoteAddr{0x10018};
  slots.object_bytes = slots.descriptor = 40;
  slots.objects = 408;
  heap::Block next = slots;
  next.start = RemoteAddr{0x14020};
  next.object_bytes = next.descriptor = 640;
  next.objects = 25;
  index.blocks = {slots, next};
  const Capture nothing(Arena::reserve(1U << 16, 0).value());
  const heap::Heap heap(index, {.block_bytes = 0x4000}, nothing);
  const auto start_of = [&](std::uint64_t word) {
    const auto ref = heap.resolve(word);
    return ref ? heap.address(*ref).value : 0;
  };
  for (std::uint64_t slot = 0; slot < slots.objects; ++slot) {
    const std::uint64_t at = 0x10018 + slot * 40;
    CHECK(start_of(at) == at);
    CHECK(start_of(at + 24) == at);
    CHECK(heap.object_at(at).has_value());
    CHECK_FALSE(heap.object_at(at + 8).has_value());
  }
  for (std::uint64_t slot = 0; slot < next.objects; ++slot) {
    const std::uint64_t at = 0x14020 + slot * 640;
    CHECK(start_of(at + 639) == at);
  }
  for (const std::uint64_t word :
       std::vector<std::uint64_t>{0x10000, 0x10010, 0x13fe0, 0x14018, 0x17ea0, 0x18000}) {
    CHECK_MESSAGE(start_of(word) == 0, word);
  }
  CHECK(heap::memory_of(index) == std::vector<Range>{{RemoteAddr{0x10000}, 0x8000}});
  heap::BlockIndex malloc;
  CHECK(heap::join_blocks(parts_of(index, malloc)).has_value());
}

}  // namespace heapattach
