#include "symbols/boehm/collector_lists.h"

#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "symbols/boehm/kinds.h"
#include "tests/fakes/fake_memory.h"

namespace heapattach {

namespace {

constexpr Range kData{RemoteAddr{0x7f00'0000'0000}, 0x1000};  // of the collector
constexpr Range kKinds{kData.start + 0x800, 0x200};
constexpr RemoteAddr kOwn{0x7f11'0000'0000};  // memory that the collector took for itself
constexpr std::uint64_t kOwnBytes = 0x40000;
constexpr RemoteAddr kFreeLists{0x7f10'0000'0000};
constexpr RemoteAddr kHeap{0x7f22'0000'0000};
constexpr std::uint64_t kEntries = 4096;

struct Rig {
  Rig() {
    memory.map_zero(kData.start, kData.bytes);
    memory.map_zero(kOwn, kOwnBytes);
    collector.kinds = kKinds;
    for (std::uint64_t i = 0; i < 8; ++i) {
      index.blocks.push_back({kHeap + i * 4096, 32, 32, 128, heap::kNormal, 0});
    }
    for (std::uint64_t kind = 0; kind < boehm::kFirstKinds; ++kind) {
      memory.put(kKinds.start + kind * 48, kFreeLists + kind * boehm::kListsOfKind * 8);
    }
  }

  // Writes GC_mark_stack, GC_mark_stack_limit, GC_mark_stack_top and GC_mark_stack_size.
  void put_mark_stack(RemoteAddr at, RemoteAddr top) {
    memory.put(kData.start + 0x100, at);
    memory.put(kData.start + 0x110, at + kEntries * 16);
    memory.put(kData.start + 0x400, top);
    memory.put(kData.start + 0x208, kEntries);
  }

  std::vector<Range> find() {
    Capture capture(Arena::reserve(1 << 20, 0).value());
    const std::vector<Range> all{kData, {kOwn, kOwnBytes}};
    REQUIRE(capture.add(memory, all, {}));
    return boehm::collector_lists(capture, std::span(&kData, 1), collector, index, threads);
  }

  FakeMemory memory;
  boehm::Collector collector;
  heap::BlockIndex index;
  std::vector<FrozenThread> threads;
};

FrozenThread thread_called(const std::string& name, RemoteAddr stack, RemoteAddr local) {
  FrozenThread thread;
  thread.tid = 5;
  thread.name = name;
  thread.registers.emplace();
  thread.registers->stack_pointer = stack;
  thread.registers->thread_pointer = local;
  return thread;
}

}  // namespace

TEST_CASE("an empty mark stack of the collector is found, whatever was left in it") {
  Rig rig;
  rig.memory.put(kOwn + 0x1000, kHeap);
  rig.put_mark_stack(kOwn + 0x1000, kOwn + 0x1000 - 16);
  CHECK(rig.find() == std::vector<Range>{{kOwn + 0x1000, kEntries * 16}});
}

TEST_CASE("what only resembles a mark stack, or is one in use, remains a root") {
  Rig rig;
  SUBCASE("it has entries") {
    rig.put_mark_stack(kOwn + 0x1000, kOwn + 0x1020);
  }
  SUBCASE("it ends elsewhere") {
    rig.put_mark_stack(kOwn + 0x1000, kOwn + 0x1000 - 16);
    rig.memory.put(kData.start + 0x110, kOwn + 0x2000);
  }
  SUBCASE("its size is not known") {
    rig.put_mark_stack(kOwn + 0x1000, kOwn + 0x1000 - 16);
    rig.memory.put(kData.start + 0x208, kEntries + 1);
  }
  SUBCASE("it is among static variables, as malloc's lists are in a static program") {
    rig.put_mark_stack(kData.start + 0x300, kData.start + 0x300 - 16);
  }
  SUBCASE("it ends among static variables") {
    rig.put_mark_stack(kData.start - 0x1000, kData.start - 0x1000 - 16);
  }
  CHECK(rig.find().empty());
}

TEST_CASE("the lists of blocks to reclaim are found by the kinds of objects") {
  Rig rig;
  const RemoteAddr list = kOwn + 0x20;
  rig.memory.put(kKinds.start + 48 + 8, list);  // the list of the second kind
  rig.memory.put(list + 4 * 8, kHeap + 4096);
  rig.memory.put(list + 128 * 8, kHeap + 3 * 4096);
  SUBCASE("each word is a block or 0") {
    CHECK(rig.find() == std::vector<Range>{{list, 129 * 8}});
  }
  SUBCASE("a word is something else") {
    rig.memory.put(list + 7 * 8, kHeap + 4096 + 32);
    CHECK(rig.find().empty());
  }
}

TEST_CASE("releases before 7 have a list for each size in words") {
  Rig rig;
  rig.collector.layout.word_headers.emplace();
  const RemoteAddr list = kOwn + 0x20;
  rig.memory.put(kKinds.start + 48 + 8, list);
  rig.memory.put(list + 256 * 8, kHeap + 4096);
  CHECK(rig.find() == std::vector<Range>{{list, 257 * 8}});
  rig.memory.put(list + 255 * 8, kHeap + 4096 + 32);
  CHECK(rig.find().empty());
}

TEST_CASE("the mark stacks of threads that mark in parallel are found by their names") {
  Rig rig;
  const RemoteAddr stack = kOwn + 0x1008;
  rig.threads.push_back(thread_called("GC-marker-0", stack, stack + 0x20000));
  rig.threads.push_back(thread_called("worker", stack, stack + 0x20000));
  // The stack pointer is too near the thread-local data: a thread that waits for work is elsewhere.
  rig.threads.push_back(thread_called("GC-marker-1", kOwn + 0x30000, kOwn + 0x38000));
  const std::vector<Range> lists = rig.find();
  REQUIRE(lists.size() == 1);
  CHECK(lists[0].start > stack);
  CHECK(lists[0].end() < stack + 0x20000);
}

}  // namespace heapattach
