#include "symbols/boehm/roots.h"

#include <doctest/doctest.h>

#include "symbols/boehm/heap.h"
#include "symbols/boehm/kinds.h"
#include "symbols/heap/roots.h"
#include "tests/fakes/captured_heap.h"
#include "tests/fakes/fake_gc_heap.h"

namespace heapattach::boehm {

using namespace heap;
namespace {

constexpr RemoteAddr kData{0x6000'0000'0000};
constexpr RemoteAddr kStack{0x7000'0000'0000};
constexpr RemoteAddr kThreadPointer{0x7000'0000'f000};

// A thread whose stack pointer is in the middle of a stack of 64 KiB.
FrozenThread thread_at(pid_t tid, RemoteAddr stack_pointer, RemoteAddr thread_pointer) {
  FrozenThread thread;
  thread.tid = tid;
  thread.registers.emplace();
  thread.registers->stack_pointer = stack_pointer;
  thread.registers->thread_pointer = thread_pointer;
  return thread;
}

// A heap, the collector's data and a stack.
struct Target {
  FakeGcHeap fake;
  std::vector<Range> data = {{kData, 4096}};
  std::vector<FrozenThread> threads = {thread_at(7, kStack + 0x8000, kThreadPointer)};

  Target() {
    fake.add_memory(kData, 4096);
    fake.add_memory(kStack, 0x10000);
  }
  [[nodiscard]] CapturedHeap capture() { return CapturedHeap(fake, {{kData, 4096}}); }
};

TEST_CASE("a stack extends from its red zone to the end of its mapping") {
  Target target;
  const auto roots = stack_roots(target.threads, target.fake.map());
  REQUIRE(roots.size() == 1);
  CHECK(roots[0].kind == RootKind::Stack);
  CHECK(roots[0].thread == 7);
  CHECK(roots[0].range == Range{kStack + 0x8000 - 128, 0x8000 + 128});
}

TEST_CASE("a stack pointer that points nowhere gives no root") {
  Target target;
  target.threads[0].registers->stack_pointer = RemoteAddr{3};
  CHECK(stack_roots(target.threads, target.fake.map()).empty());
  target.threads[0].registers->stack_pointer = RemoteAddr{~std::uint64_t{0}};
  CHECK(stack_roots(target.threads, target.fake.map()).empty());
}

TEST_CASE("ranges to copy are sorted, disjoint, mapped and outside the heap") {
  Target target;
  const std::vector<RootRange> roots = {{.range = {kData + 8, 64}},
                                        {.range = {kData, 32}},
                                        {.range = {kStack + 0xff00, 0x1000}},
                                        {.range = {RemoteAddr{16}, 64}},
                                        {.range = {kData + 200, 0}}};
  const std::vector<Range> more = {{kData + 1024, 1024}};
  const std::vector<Range> heap = {{kData + 40, 8}, {kData + 2000, 4096}};
  const auto plan = plan_copy(roots, more, heap, target.fake.map());
  const std::vector<Range> expected = {{kData, 32},
                                       {kData + 32, 8},
                                       {kData + 48, 24},
                                       {kData + 1024, 976},
                                       {kStack + 0xff00, 0x100}};
  CHECK(plan == expected);
}

TEST_CASE("a thread's record shows where its stack ends and where its free lists begin") {
  Target target;
  FakeGcHeap& fake = target.fake;
  const RemoteAddr records = fake.add_block({.object_bytes = 1024});
  const RemoteAddr small = fake.add_block({.object_bytes = 32});
  const RemoteAddr atomic = fake.add_block({.object_bytes = 16, .kind = kAtomic});
  const RemoteAddr other = records + 1024;
  fake.put(kData + 512, other);  // the hash table of threads
  fake.put(other, records);      // the next in the chain is ours
  fake.put(records + 8, kThreadPointer);
  fake.put(records + 24, kStack + 0x9000);  // where it stopped last
  fake.put(records + 40, kStack + 0xe000);  // the stack's end
  fake.put(records + 48, kData);
  for (std::uint64_t i = 0; i < 50; ++i) fake.put(records + 104 + i * 8, std::uint64_t{1});
  fake.put(records + 104 + 8, atomic);
  fake.put(records + 104 + (25 + 2) * 8, small);
  fake.link({small, small + 96, small + 32});
  fake.link({atomic, atomic + 16});

  const CapturedHeap captured = target.capture();
  const auto found = find_thread_records(captured.heap(), captured.capture(), target.data,
                                         target.threads, fake.map());
  REQUIRE(found.size() == 1);
  CHECK(found[0].thread == 7);
  CHECK(found[0].at == records);
  CHECK(found[0].stack_end == kStack + 0xe000);
  CHECK(found[0].list_heads ==
        std::vector<Range>{{records + 104 + 8, 8}, {records + 104 + 27 * 8, 8}});

  const Heap& heap = captured.heap();
  const ObjectSet free = find_free_objects(heap, captured.capture(), target.data, found);
  CHECK(free.count() == 5);
  CHECK(free.contains(heap.number(*heap.object_at(small.value + 96))));
  CHECK_FALSE(free.contains(heap.number(*heap.object_at(small.value + 64))));
}

TEST_CASE("the first thread's record is a variable of the collector") {
  Target target;
  const RemoteAddr small = target.fake.add_block({.object_bytes = 48});
  target.fake.put(kData + 108 * 8, kThreadPointer);  // an id without a record after it
  target.fake.put(kData + 201 * 8, kThreadPointer);
  for (std::uint64_t g = 0; g < 75; ++g) target.fake.put(kData + (214 + g) * 8, std::uint64_t{2});
  target.fake.put(kData + (214 + 25 + 3) * 8, small);
  const CapturedHeap captured = target.capture();
  const auto found = find_thread_records(captured.heap(), captured.capture(), target.data,
                                         target.threads, target.fake.map());
  REQUIRE(found.size() == 1);
  CHECK(found[0].list_heads == std::vector<Range>{{kData + (214 + 28) * 8, 8}});
  CHECK_FALSE(found[0].stack_end.has_value());
}

TEST_CASE("roots that were not copied are reported, except those of a module that is gone") {
  Target target;
  const CapturedHeap captured = target.capture();
  const RemoteAddr gone = kData + 0x10000;
  const std::vector<RootRange> roots = {
      {.range = {kData + 8, 64}},
      {.range = {gone, 4096}},
      {.kind = RootKind::Stack, .range = {kStack, 4096}, .thread = 9}};
  auto missing = unread_roots(roots, {}, captured.capture());
  REQUIRE(missing.size() == 1);
  CHECK(missing[0].find("4096 bytes of the stack of thread 9") != std::string::npos);

  SUBCASE("a registered area always counts as missing") {
    const RootArea area{.range = {gone + 64, 128}};
    missing = unread_roots(roots, {&area, 1}, captured.capture());
    REQUIRE(missing.size() == 2);
    CHECK(missing[0].find("of the roots from") != std::string::npos);
  }
  SUBCASE("a part of an existing module is missing") {
    const std::vector<RootRange> part = {{.range = {kData + 4000, 200}}};
    CHECK(unread_roots(part, {}, captured.capture()).size() == 1);
  }
}

TEST_CASE("the words of a root are found in all its copied pieces") {
  Target target;
  const RemoteAddr block = target.fake.add_block({.object_bytes = 64});
  const CapturedHeap captured(target.fake, {{kData, 8}, {kData + 4096 - 16, 16}});
  const RootRange whole{.range = {kData, 4096}};
  const auto words = root_words({&whole, 1}, captured.capture());
  std::size_t bytes = 0;
  for (const RootWords& piece : words) bytes += piece.bytes.size();
  CHECK(bytes == 8);  // the second piece is in the middle of a page
  const RootRange in_heap{.range = {block, 4096}};
  CHECK(root_words({&in_heap, 1}, captured.capture())[0].at == block);
}

TEST_CASE("global free lists are found by the sizes of their objects") {
  Target target;
  FakeGcHeap& fake = target.fake;
  const RemoteAddr a = fake.add_block({.object_bytes = 32});
  const RemoteAddr b = fake.add_block({.object_bytes = 64});
  const RemoteAddr lists = kData + 1024;
  fake.put(kData, lists);
  fake.put(lists + 2 * 8, a + 32);
  fake.put(lists + 4 * 8, b);
  fake.link({a + 32, a + 64});
  SUBCASE("a list") {}
  SUBCASE("a list that goes in a circle") {
    fake.put(a + 64, a + 32);
  }
  SUBCASE("a list that points elsewhere") {
    fake.put(a + 64, b);
  }
  SUBCASE("a list that points nowhere") {
    fake.put(a + 64, std::uint64_t{0x123456});
  }
  const CapturedHeap captured = target.capture();
  CHECK(find_free_objects(captured.heap(), captured.capture(), target.data, {}).count() == 3);
}

TEST_CASE("blocks that wait to be swept are not free lists") {
  Target target;
  FakeGcHeap& fake = target.fake;
  const RemoteAddr a = fake.add_block({.object_bytes = 32});
  const RemoteAddr b = fake.add_block({.object_bytes = 64});
  constexpr RemoteAddr kTable = kData + 0x40;
  constexpr RemoteAddr kUnswept = kData + 0x400;
  constexpr RemoteAddr kLists{kStack + 0x1000};  // not copied, except those of one kind
  constexpr RemoteAddr kNormalLists = kLists + kListsOfKind * 8;
  fake.put(kUnswept + 2 * 8, a);
  fake.put(kUnswept + 4 * 8, b);
  const std::span<const Range> data = target.data;

  SUBCASE("where the table of kinds is unknown") {
    fake.put(kTable + 8, kUnswept);
    const CapturedHeap captured = target.capture();
    CHECK(find_free_objects(captured.heap(), captured.capture(), data, {}).count() == 0);
  }
  SUBCASE("where it is known, even for a list whose head begins a block") {
    std::uint64_t words = 0;
    SUBCASE("of 6 words for each kind") {
      words = 6;
    }
    SUBCASE("of 5") {
      words = 5;
    }
    SUBCASE("of 4") {
      words = 4;
    }
    for (std::uint64_t kind = 0; kind < kFirstKinds; ++kind) {
      const RemoteAddr entry = kTable + kind * words * 8;
      fake.put(entry, kLists + kind * kListsOfKind * 8);
      fake.put(entry + 8, kUnswept);
      fake.put(entry + 16, kind == kNormal ? ~std::uint64_t{15} : 0);
    }
    fake.put(kNormalLists + 2 * 8, a);
    fake.link({a, a + 64});
    const CapturedHeap captured(fake, {{kData, 4096}, {kNormalLists, kListsOfKind * 8}});
    const auto kinds = read_kinds({kTable, 16 * words * 8}, captured.capture());
    REQUIRE(kinds.size() == kFirstKinds);
    CHECK(kinds[kNormal].free_lists == kNormalLists);
    CHECK(kinds[kNormal].descriptor == ~std::uint64_t{15});
    const ObjectSet free = find_free_objects(captured.heap(), captured.capture(), kinds, data, {});
    CHECK(free.count() == 2);
    CHECK_FALSE(free.contains(captured.heap().number(*captured.heap().object_at(b.value))));
  }
}

TEST_CASE("an array whose words point to other sizes is not an array of free lists") {
  Target target;
  const RemoteAddr a = target.fake.add_block({.object_bytes = 32});
  target.fake.put(kData, kData + 1024);
  target.fake.put(kData + 1024 + 2 * 8, a);
  target.fake.put(kData + 1024 + 3 * 8, a + 32);
  const CapturedHeap captured = target.capture();
  CHECK(find_free_objects(captured.heap(), captured.capture(), target.data, {}).count() == 0);
}

TEST_CASE("an uncollectable object is in use if it is marked and on no free list") {
  Target target;
  FakeGcHeap& fake = target.fake;
  const RemoteAddr block = fake.add_block({.object_bytes = 64, .kind = kUncollectable});
  const RemoteAddr large = fake.add_block({.object_bytes = 8192, .kind = kUncollectable});
  for (const std::uint64_t slot : {1U, 2U, 3U}) fake.set_mark(block, block + slot * 64);
  fake.set_mark(large, large);
  const RemoteAddr lists = kData + 1024;
  fake.put(kData, lists);
  fake.put(lists + 4 * 8, block + 128);
  const CapturedHeap captured = target.capture();
  const Heap& heap = captured.heap();
  const ObjectSet free = find_free_objects(heap, captured.capture(), target.data, {});
  const std::vector<ObjectRef> expected = {{0, 1}, {0, 3}, {1, 0}};
  CHECK(uncollectable_objects(heap, free) == expected);
}

TEST_CASE("objects with finalizers are found through the collector's table") {
  Target target;
  FakeGcHeap& fake = target.fake;
  const RemoteAddr table = fake.add_block({.object_bytes = 128});
  const RemoteAddr entries = fake.add_block({.object_bytes = 64});
  const RemoteAddr objects = fake.add_block({.object_bytes = 96});
  fake.put(kData + 256, table);
  fake.put(table + 40, entries);
  std::uint64_t size_at = 32;
  SUBCASE("whose entries are as in 8.2") {}
  SUBCASE("whose entries are as in 8.3") {
    size_at = 40;
  }
  const auto put_entry = [&](RemoteAddr entry, RemoteAddr object, RemoteAddr next) {
    fake.put(entry, ~object.value);
    fake.put(entry + 8, next);
    fake.put(entry + 16, std::uint64_t{0x401000});
    fake.put(entry + size_at, std::uint64_t{96});
  };
  put_entry(entries, objects, entries + 64);
  put_entry(entries + 64, objects + 192, entries);  // the chain's end points back
  const CapturedHeap captured = target.capture();
  const auto found = find_collector_objects(captured.heap(), captured.capture(), target.data);
  CHECK(found.finalizable == std::vector<ObjectRef>{{2, 0}, {2, 2}});
  CHECK(found.tables == std::vector<ObjectRef>{{0, 0}});
}

TEST_CASE("tables of links and due finalizers are kept, other objects are not") {
  Target target;
  FakeGcHeap& fake = target.fake;
  const RemoteAddr objects = fake.add_block({.object_bytes = 64});
  const RemoteAddr links = fake.add_block({.object_bytes = 32});
  fake.put(kData + 256, links);  // a table with one link
  fake.put(links + 8, links + 32);
  fake.put(links + 32, ~kData.value);
  fake.put(links + 32 + 16, ~objects.value);
  fake.put(kData + 264, objects + 64);  // due
  fake.put(objects + 64, objects + 128);
  fake.put(objects + 64 + 16, std::uint64_t{0x401000});
  fake.put(objects + 64 + 32, std::uint64_t{64});
  fake.put(kData + 272, objects + 192);  // neither
  fake.put(objects + 192, objects + 128);
  const CapturedHeap captured = target.capture();
  const auto found = find_collector_objects(captured.heap(), captured.capture(), target.data);
  CHECK(found.tables == std::vector<ObjectRef>{{1, 0}, {0, 1}});
  CHECK(found.finalizable.empty());
}

TEST_CASE("only the table of long bitmaps that the program's types use is the collector's") {
  Target target;
  FakeGcHeap& fake = target.fake;
  RemoteAddr at = kData + 256;
  // Adds arrays of numbers that have the table's size, or begin like it, and the table among them.
  for (const std::uint32_t bytes : {1616U, 3216U, 102400U, 3184U, 16400U}) {
    const RemoteAddr block = fake.add_block({.object_bytes = bytes, .kind = kAtomic});
    fake.put(block, std::uint64_t{bytes == 1616U ? 0x32U : 0x31U});
    fake.put(at, block);
    at = at + 8;
  }
  CapturedHeap captured = target.capture();
  const auto find = [&] {
    return find_collector_objects(captured.heap(), captured.capture(), target.data).tables;
  };
  CHECK(find().empty());  // no type has been made
  MarkingRules rules;
  rules.typed_procedure = 5;
  rules.bitmaps = std::vector<ExtendedBitmap>(3216 / 16);
  rules.bitmaps[0].bits = 0x31;
  follow(captured.heap(), std::move(rules));
  CHECK(find() == std::vector<ObjectRef>{{1, 0}});
}

TEST_CASE("slots that look swept are free") {
  Target target;
  FakeGcHeap& fake = target.fake;
  const RemoteAddr a = fake.add_block({.object_bytes = 32});
  const RemoteAddr text = fake.add_block({.object_bytes = 32, .kind = kAtomic});
  fake.put(a, a + 64);                      // only a link
  fake.put(a + 32 + 16, std::uint64_t{5});  // something written
  fake.put(text + 16, std::uint64_t{77});
  fake.put(text + 32, text);
  const CapturedHeap captured = target.capture();
  const Heap& heap = captured.heap();
  const MarkingRules rules;
  CHECK(rules.looks_free(heap, {0, 0}));
  CHECK_FALSE(rules.looks_free(heap, {0, 1}));
  CHECK(rules.looks_free(heap, {0, 2}));
  CHECK_FALSE(rules.looks_free(heap, {1, 0}));
  CHECK(rules.looks_free(heap, {1, 1}));
}

}  // namespace
}  // namespace heapattach::boehm
