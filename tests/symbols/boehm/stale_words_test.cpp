#include "symbols/boehm/stale_words.h"

#include <doctest/doctest.h>

#include "symbols/boehm/churn.h"
#include "tests/fakes/captured_heap.h"

namespace heapattach::boehm {
namespace {

constexpr RemoteAddr kStacks{0x7000'0000'0000};
constexpr std::uint64_t kStackBytes = std::uint64_t{128} << 10;

heap::LiveSet nothing_found(const heap::Heap& heap) {
  return {heap::ObjectSet(heap), heap::ObjectSet(heap)};
}

// Adds `count` stacks. Each is full of addresses in the second and the third object of 32 bytes at
// `objects`.
std::vector<Range> add_stacks(FakeMemory& memory, RemoteAddr objects, std::size_t count) {
  std::vector<Range> stacks;
  for (std::size_t i = 0; i < count; ++i) {
    const RemoteAddr stack = kStacks + 2 * i * kStackBytes;
    memory.map_zero(stack, kStackBytes);
    for (std::uint64_t at = 0; at < kStackBytes; at += 16) {
      memory.put(stack + at, objects + 32);
      memory.put(stack + at + 8, objects + 64 + 8);
    }
    stacks.push_back({stack, kStackBytes});
  }
  return stacks;
}

}  // namespace

TEST_CASE("however many stacks are stale, one word is kept for each object that they reference") {
  FakeGcHeap fake;
  const RemoteAddr objects = fake.add_block({.object_bytes = 32});
  fake.put(objects + 64, objects + 96);
  const CapturedHeap captured(fake);
  const heap::Heap& heap = captured.heap();
  const heap::LiveSet found = nothing_found(heap);
  FakeMemory memory;
  const auto stacks = add_stacks(memory, objects, 20);
  StaleWords stale(heap, found);
  stale.read(stacks, memory, {});
  const heap::RootWords words = stale.words();
  CHECK(words.bytes.size() == 16);
  CHECK(stale.unread() == 0);
  const auto dropped = dropped_since_collection(heap, found, {&words, 1}, 1);
  CHECK(dropped.count() == 3);
}

TEST_CASE("stale words to objects that are alive or free explain nothing, and are not kept") {
  FakeGcHeap fake;
  const RemoteAddr objects = fake.add_block({.object_bytes = 32});
  const CapturedHeap captured(fake);
  const heap::Heap& heap = captured.heap();
  heap::LiveSet found = nothing_found(heap);
  found.live.insert(heap.number(*heap.object_at(objects.value + 32)));
  found.free.insert(heap.number(*heap.object_at(objects.value + 64)));
  FakeMemory memory;
  StaleWords stale(heap, found);
  stale.read(add_stacks(memory, objects, 1), memory, {});
  CHECK(stale.words().bytes.empty());
}

TEST_CASE("stacks that cannot be read or have no time are passed over, and the latter counted") {
  FakeGcHeap fake;
  const RemoteAddr objects = fake.add_block({.object_bytes = 32});
  const CapturedHeap captured(fake);
  const heap::LiveSet found = nothing_found(captured.heap());
  FakeMemory memory;
  auto stacks = add_stacks(memory, objects, 3);
  stacks.insert(stacks.begin(), {RemoteAddr{0x1000}, kStackBytes});
  StaleWords stale(captured.heap(), found);
  Deadline passed;
  passed.at = std::chrono::steady_clock::now();
  stale.read(stacks, memory, passed);
  CHECK(stale.unread() == 4);
  CHECK(stale.words().bytes.empty());
  stale.read(stacks, memory, {});
  CHECK(stale.words().bytes.size() == 16);
}

}  // namespace heapattach::boehm
