// HAZARDS E3: heaps whose structures contain random lies.

#include <array>
#include <random>

#include <doctest/doctest.h>

#include "attach/base/sanitized.h"
#include "symbols/boehm/live.h"
#include "symbols/heap/live_set.h"
#include "tests/fakes/captured_heap.h"
#include "tests/fakes/fake_gc_heap.h"

namespace heapattach::boehm {

using namespace heap;
namespace {

constexpr int kHeaps = kIsSanitized ? 150 : 400;

class LyingHeap {
 public:
  explicit LyingHeap(std::uint64_t seed) : random_(seed) {
    fake_.add_memory(kData, 4096);
    const std::array<BlockSpec, 9> specs = {{{.object_bytes = 16},
                                             {.object_bytes = 48},
                                             {.object_bytes = 32, .kind = kAtomic},
                                             {.object_bytes = 2048},
                                             {.object_bytes = 5 * 4096},
                                             {.object_bytes = 3 * 4096, .kind = kAtomic},
                                             {.object_bytes = 64, .kind = 2},
                                             {.object_bytes = 64, .kind = 4, .descriptor = 0x3},
                                             {.object_bytes = 96, .kind = 5, .descriptor = 0x1}}};
    for (int i = 0; i < 18; ++i) blocks_.push_back(fake_.add_block(specs.at(pick(9))));
    for (const RemoteAddr block : blocks_) {
      for (int i = 0; i < 200; ++i) fake_.put(block + pick(512) * 8, some_word());
    }
    for (std::uint64_t i = 0; i < 64; ++i) fake_.put(kData + i * 8, some_word());
    for (std::uint64_t lies = pick(12) + 1; lies > 0; --lies) fake_.put(some_place(), some_word());
  }

  FakeGcHeap& fake() { return fake_; }
  [[nodiscard]] static Range data() { return {kData, 4096}; }

 private:
  using BlockSpec = FakeGcHeap::BlockSpec;
  static constexpr RemoteAddr kData{0x5560'0000'0000};

  std::uint64_t pick(std::uint64_t below) { return random_() % below; }
  RemoteAddr some_block() { return blocks_[pick(blocks_.size())]; }

  // The address of a word in the top index, a bottom index, a header or an object.
  RemoteAddr some_place() {
    const RemoteAddr block = some_block();
    switch (pick(4)) {
      case 0: return FakeGcHeap::kTopIndex + pick(2048) * 8;
      case 1: return fake_.bottom_of(block) + pick(0x2020 / 8) * 8;
      case 2: return fake_.header_of(block) + pick(16) * 8;
      default: return block + pick(512) * 8;
    }
  }

  std::uint64_t some_word() {
    const RemoteAddr block = some_block();
    const std::array<std::uint64_t, 12> words = {0,
                                                 1,
                                                 pick(5000),
                                                 std::uint64_t{1} << 63,
                                                 ~std::uint64_t{0},
                                                 ~std::uint64_t{0} - 15,
                                                 block.value,
                                                 block.value + pick(4096),
                                                 fake_.header_of(block).value,
                                                 fake_.header_of(block).value + 4,
                                                 fake_.bottom_of(block).value,
                                                 FakeGcHeap::kTopIndex.value};
    return words.at(pick(words.size()));
  }

  std::mt19937_64 random_;
  FakeGcHeap fake_;
  std::vector<RemoteAddr> blocks_;
};

// Uses a heap in every way, and checks that all answers lie within this heap.
void read_everything(LyingHeap& lying) {
  FakeGcHeap& fake = lying.fake();
  CapturedHeap captured(fake, {lying.data()});
  Heap& heap = captured.heap();
  Roots roots;
  roots.ranges = {{RootKind::Global, lying.data(), 0, 0}};
  roots.collector_data = {lying.data()};
  const LiveSet found = find_live(heap, captured.capture(), roots, fake.map(), 2);
  CHECK(found.live.count() <= heap.slots());
  std::uint64_t edges = 0;
  for_each_object(heap, found.live, 0, static_cast<std::uint32_t>(heap.blocks().size()),
                  [&](ObjectRef ref) {
                    heap.for_each_edge(ref, [&](std::uint64_t, ObjectRef to) {
                      ++edges;
                      REQUIRE(heap.number(to) < heap.slots());
                    });
                  });
  // There are no more edges than words in memory, whatever sizes the heap claims.
  CHECK(edges <= 64 * 4096 / 8);
}

TEST_CASE("randomly corrupted heaps are read without harm, and rejected parts are counted") {
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= kHeaps; ++seed) {
    CAPTURE(seed);
    LyingHeap lying(seed);
    const auto index =
        read_blocks(lying.fake().memory(), lying.fake().map(), lying.fake().layout());
    if (!index) {
      CHECK_FALSE(index.error().message().empty());
      ++refused;
      continue;
    }
    if (index->skipped > 0) {
      ++refused;
      CHECK_FALSE(index->misfits.empty());
    }
    read_everything(lying);
  }
  CHECK(refused > kHeaps / 10);
  CHECK(refused < kHeaps);
}

}  // namespace
}  // namespace heapattach::boehm
