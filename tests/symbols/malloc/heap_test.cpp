#include "symbols/malloc/heap.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "symbols/heap/by_hand.h"
#include "symbols/heap/heap.h"
#include "tests/fakes/fake_malloc_heap.h"

namespace heapattach {

namespace {

std::vector<RemoteAddr> payloads(const glibc::Heap& heap) {
  std::vector<RemoteAddr> found;
  for (const heap::Block& block : heap.index.blocks) found.push_back(block.start);
  return found;
}

}  // namespace

TEST_CASE("malloc's heap has the chunks in use, and no others, in every release") {
  for (const MallocRelease& release : malloc_releases()) {
    CAPTURE(release.name);
    FakeMallocHeap fake(release);
    const RemoteAddr first = fake.add(0x20);
    fake.add_free(0x500);
    const RemoteAddr second = fake.add(0x90);
    if (release.fast_bins != 0) {
      fake.add_fast(0x40);
      fake.add_fast(0x40);
    }
    fake.add_cached(0x30);
    fake.add_cached(0x30);
    fake.add_cached(0x410);
    const RemoteAddr third = fake.add(0x1230);
    const RemoteAddr mapped = fake.add_mapped(0x21000);
    const RemoteAddr aligned = fake.add_mapped(0x22000, 0x1000);
    const RemoteAddr barely = fake.add_mapped(0x23000, 64);
    const auto heap = fake.read();
    REQUIRE(heap);
    CHECK(heap->problems == std::vector<std::string>{});
    CHECK(payloads(*heap) ==
          std::vector<RemoteAddr>{first, second, third, mapped, aligned, barely});
    CHECK(heap->index.blocks[0].object_bytes == 0x18);
    const std::uint64_t end = release.behind_mapped == 0 ? 0 : 8;
    CHECK(heap->index.blocks[3].object_bytes == 0x21000 - 16 - end);
    CHECK(heap->index.blocks[4].object_bytes == 0x22000 - 0x1000 - end);
    const glibc::ArenaAccount& main = heap->account.arenas.at(0);
    CHECK(main.system == fake.system_mem());
    CHECK(main.free == 0x500);
    CHECK(main.fast == (release.fast_bins != 0 ? 0x80 : 0));
    CHECK(main.cached == 2 * 0x30 + 0x410);
    CHECK(main.top == 0x1000);
    CHECK(main.in_use == 0x20 + 0x90 + 0x1230 + release.cache_chunk);
    CHECK(heap->account.mapped_chunks == 3);
    CHECK(heap->account.mapped_bytes == 0x66000);
  }
}

TEST_CASE("a heap of any release is found without a copy, and none where malloc was not used") {
  for (const MallocRelease& release : malloc_releases()) {
    CAPTURE(release.name);
    FakeMallocHeap fake(release);
    fake.add(0x20);
    fake.add_free(0x90);
    fake.add(0x40);
    fake.add_arena();
    const Range data = FakeMallocHeap::data();
    const auto unused = glibc::check_heap(fake.memory(), std::span(&data, 1));
    REQUIRE_FALSE(unused);
    CHECK(unused.error().kind == ErrorKind::Unsupported);
    REQUIRE(fake.read());
    CHECK(glibc::check_heap(fake.memory(), std::span(&data, 1)));
  }
}

TEST_CASE("a cache with nothing in it is known by the pointer that its thread has") {
  FakeMallocHeap fake(malloc_releases().at(4));
  fake.add(0x20);
  const auto heap = fake.read();
  REQUIRE(heap);
  CHECK(heap->index.blocks.size() == 1);
  CHECK(heap->caches.caches == 1);
}

TEST_CASE("a cache is known while its thread is in the midst of one change, and not of two") {
  for (const int changed : {1, 2}) {
    FakeMallocHeap fake(malloc_releases().at(4));
    fake.add_cached(0x30);
    fake.add_cached(0x30);
    fake.add_cached(0x50);
    fake.miscount(0x30);
    if (changed == 2) fake.miscount(0x50);
    const auto heap = fake.read();
    REQUIRE(heap);
    CHECK(heap->caches.cached == (changed == 1 ? 3 : 0));
    CHECK(heap->caches.is_cache_broken == (changed == 2));
    CHECK(heap->problems.size() == (changed == 2 ? 1 : 0));
  }
}

TEST_CASE("links are followed as they are stored, also if only a cache shows how") {
  for (const MallocRelease& release : malloc_releases()) {
    CAPTURE(release.name);
    FakeMallocHeap fake(release);
    for (int i = 0; i < 3; ++i) fake.add_cached(0x40);
    const auto heap = fake.read();
    REQUIRE(heap);
    CHECK(heap->index.blocks.empty());
    CHECK(heap->caches.cached == 3);
  }
}

TEST_CASE("the bytes of mapped chunks may be miscounted by realloc in 2.43, and only there") {
  for (const MallocRelease& release : malloc_releases()) {
    CAPTURE(release.name);
    FakeMallocHeap fake(release);
    fake.add_mapped(0x21000);
    fake.drift(0x20);
    const auto heap = fake.read();
    REQUIRE(heap);
    CHECK(heap->problems.empty() == (release.name == "2.43"));
  }
}

TEST_CASE("data that looks like a mapped chunk is not one if malloc's account shows it") {
  FakeMallocHeap fake(malloc_releases().at(4));
  const RemoteAddr first = fake.add_mapped(0x21000);
  const RemoteAddr second = fake.add_mapped(0x22000);
  const RemoteAddr after = second - 16 + 0x22000;
  constexpr std::uint64_t kIsMapped = 2;
  SUBCASE("its size is unique") {
    fake.poke(after + 8, 0x5000 | kIsMapped);
    const auto heap = fake.read();
    REQUIRE(heap);
    CHECK(heap->problems.empty());
    CHECK(heap->account.mapped_chunks == 2);
    CHECK(heap->account.mapped_bytes == 0x43000);
    CHECK(heap->index.blocks.size() == 2);
    CHECK(heap->index.blocks.front().start == first);
    CHECK(std::none_of(heap->claimed.begin(), heap->claimed.end(),
                       [&](const Range& one) { return one.contains(after); }));
  }
  SUBCASE("a chunk has the same size") {
    fake.poke(after + 8, 0x22000 | kIsMapped);
    const auto heap = fake.read();
    REQUIRE(heap);
    CHECK(heap->problems.size() == 1);
  }
}

TEST_CASE("malloc's account that does not add up is a problem") {
  FakeMallocHeap fake(malloc_releases().at(4));
  const RemoteAddr broken = fake.add(0x40);
  fake.add(0x50);
  SUBCASE("a size is impossible") {
    fake.poke(broken - 8, 0x8);
    const auto heap = fake.read();
    REQUIRE(heap);
    CHECK(heap->problems.size() == 2);  // the chunk, and the arena's bytes
  }
  SUBCASE("a free chunk ends where the next says that a smaller one does") {
    const RemoteAddr free = fake.add_free(0x60);
    fake.add(0x40);
    fake.poke(free - 16 + 0x60, 0x50);
    const auto heap = fake.read();
    REQUIRE(heap);
    REQUIRE(heap->problems.size() == 1);
    CHECK(heap->problems[0].find("a free chunk") != std::string::npos);
  }
  SUBCASE("a chunk has the flag of another arena") {
    fake.poke(broken - 8, 0x40 | 1 | 4);
    const auto heap = fake.read();
    REQUIRE(heap);
    REQUIRE(heap->problems.size() == 1);
    CHECK(heap->problems[0].find("of another arena") != std::string::npos);
  }
  SUBCASE("a size is that of a fence, where there is none") {
    fake.poke(broken - 8, 0x11);
    const auto heap = fake.read();
    REQUIRE(heap);
    CHECK(heap->problems.size() == 2);
  }
  SUBCASE("a mapped chunk is missing") {
    const RemoteAddr mapped = fake.add_mapped(0x21000);
    fake.poke(mapped - 8, 0);
    const auto heap = fake.read();
    REQUIRE(heap);
    REQUIRE(heap->problems.size() == 1);
    CHECK(heap->problems[0].find("mapped") != std::string::npos);
  }
}

TEST_CASE("memory that the program takes from the break itself is not malloc's") {
  FakeMallocHeap fake(malloc_releases().at(4));
  fake.add(0x40);
  fake.add_foreign(0x3000);
  const RemoteAddr behind = fake.add(0x60);
  const auto heap = fake.read();
  REQUIRE(heap);
  CHECK(heap->problems == std::vector<std::string>{});
  CHECK(payloads(*heap).back() == behind);
  CHECK(heap->claimed.size() == 2);
}

TEST_CASE("what another heap has in the break's memory is not searched for malloc's") {
  FakeMallocHeap fake(malloc_releases().at(4));
  fake.add(0x40);
  const Range others = fake.add_foreign(0x2a000);
  // Every word could be the size of a chunk, but no chain of chunks begins at any of them.
  for (std::uint64_t at = 0; at < others.bytes; at += 8) fake.poke(others.start + at, 0xfffff1);
  const RemoteAddr after = fake.add(0x60);
  const auto heap = fake.read(std::span(&others, 1));
  REQUIRE(heap);
  CHECK(heap->problems == std::vector<std::string>{});
  CHECK(payloads(*heap).back() == after);
}

TEST_CASE("of two copies of the C library, the larger heap is read, and the other is named") {
  for (const std::uint64_t other : {std::uint64_t{0}, std::uint64_t{0x1000}}) {
    FakeMallocHeap fake(malloc_releases().at(4));
    const RemoteAddr held = fake.add(0x40);
    fake.add_second_library(other);
    const auto heap = fake.read();
    REQUIRE(heap);
    CHECK(payloads(*heap) == std::vector<RemoteAddr>{held});
    CHECK(heap->problems == std::vector<std::string>{});
    CHECK(heap->unread.size() == (other == 0 ? 0 : 1));
  }
}

TEST_CASE("an aligned chunk that realloc() made larger has its new size") {
  FakeMallocHeap fake(malloc_releases().at(4));
  const RemoteAddr aligned = fake.add_mapped(0x42000, 64);
  fake.poke(aligned - 64 + 8, 0x21000 | 2);  // the header at the mapping's start is not changed
  const auto heap = fake.read();
  REQUIRE(heap);
  CHECK(heap->problems == std::vector<std::string>{});
  CHECK(heap->account.mapped_bytes == 0x42000);
}

TEST_CASE("a process without malloc's data is not supported") {
  FakeMemory memory;
  memory.map_zero(RemoteAddr{0x10000}, 0x4000);
  Capture capture(Arena::reserve(1 << 20, 0).value());
  const std::vector<Range> data{{RemoteAddr{0x10000}, 0x4000}};
  REQUIRE(capture.add(memory, data, {}));
  const auto heap = glibc::read_heap(capture, {data, {}, {}});
  REQUIRE_FALSE(heap);
  CHECK(heap.error().kind == ErrorKind::Unsupported);
}

TEST_CASE("blocks that share pages are found by any address inside them") {
  FakeMallocHeap fake(malloc_releases().at(4));
  std::vector<RemoteAddr> small;
  for (int i = 0; i < 300; ++i) small.push_back(fake.add(0x20));
  const RemoteAddr large = fake.add(0x5010);
  const RemoteAddr last = fake.add(0x30);
  const RemoteAddr mapped = fake.add_mapped(0x21000);
  const auto found = fake.read();
  REQUIRE(found);
  const heap::Heap heap(found->index, glibc::kShape, fake.capture());
  const auto start_of = [&](RemoteAddr at) -> std::uint64_t {
    const auto ref = heap.resolve(at.value);
    return ref ? heap.address(*ref).value : 0;
  };
  for (const RemoteAddr at : small) {
    REQUIRE(start_of(at) == at.value);
    REQUIRE(start_of(at + 15) == at.value);
    REQUIRE(start_of(at + 16) == 0);  // the next chunk's header, though the program may write there
    REQUIRE(heap.contents(*heap.resolve(at.value)).size() == 24);
  }
  CHECK(start_of(large + 0x4ff0) == large.value);
  CHECK(start_of(large + 0x5000) == 0);
  CHECK(start_of(last) == last.value);
  CHECK(start_of(mapped + 0x20fe0) == mapped.value);
  CHECK(start_of(mapped + 0x21000) == 0);
}

TEST_CASE("allocations that no root leads to are leaked, whatever free chunks say") {
  FakeMallocHeap fake(malloc_releases().at(4));
  const RemoteAddr held = fake.add(0x40);
  const RemoteAddr by_last_word = fake.add(0x40);
  const RemoteAddr leaked = fake.add(0x40);
  const RemoteAddr of_leaked = fake.add(0x40);
  const RemoteAddr cached = fake.add_cached(0x60);
  fake.poke(fake.global(), held.value);
  fake.poke(held + 0x30, by_last_word.value);  // the last of 56 bytes that the program may use
  fake.poke(leaked, of_leaked.value);
  fake.poke(cached + 0x20, leaked.value);
  const auto found = fake.read();
  REQUIRE(found);
  const heap::Heap heap(found->index, glibc::kShape, fake.capture());
  std::vector<heap::RootRange> roots{{.range = {fake.global(), 0x100}}};
  const auto live = heap::find_reachable(heap, fake.capture(), roots, {}, 1);
  const auto is_live = [&](RemoteAddr at) {
    return live.live.contains(heap.number(*heap.object_at(at.value)));
  };
  CHECK(is_live(held));
  CHECK(is_live(by_last_word));
  CHECK_FALSE(is_live(leaked));
  CHECK_FALSE(is_live(of_leaked));
  CHECK_FALSE(heap.object_at(cached.value));
}

TEST_CASE("an allocation that is referenced in an odd form is not leaked, and the form is known") {
  FakeMallocHeap fake(malloc_releases().at(4));
  const RemoteAddr first = fake.add(0x40);
  const RemoteAddr second = fake.add(0x40);
  const RemoteAddr third = fake.add(0x40);
  fake.poke(second, third.value);
  std::string form;
  SUBCASE("at any byte") {
    form = "(unaligned reference)";
    fake.poke(fake.global() + 3, second.value);
  }
  SUBCASE("with a tag") {
    form = "(tagged reference)";
    fake.poke(fake.global(), second.value | std::uint64_t{7} << 48);
  }
  SUBCASE("to the last word") {
    form = "(reference to its last word)";
    fake.poke(fake.global(), second.value + 0x30);
  }
  SUBCASE("to the end, which is before the start of the next one") {
    form = "(reference to its end)";
    fake.poke(fake.global(), second.value + 0x38);
  }
  const auto found = fake.read();
  REQUIRE(found);
  const heap::Heap heap(found->index, glibc::kShape, fake.capture());
  const heap::LiveSet live =
      heap::find_reachable(heap, fake.capture(), {{.range = {fake.global(), 0x100}}}, {}, 1);
  const auto is_live = [&](RemoteAddr at) {
    return live.live.contains(heap.number(*heap.object_at(at.value)));
  };
  CHECK_FALSE(is_live(first));
  CHECK(is_live(second));
  CHECK(is_live(third));
  REQUIRE_FALSE(live.odd.empty());
  CHECK(heap.address(live.odd[0].to) == second);
  CHECK(live.odd[0].form == form);
}

TEST_CASE("an address in generated code may begin at any byte, and have four bytes") {
  // mov $0x555555000010, %rax; ret; mov $0x12345678, %edi; ret
  const std::vector<std::uint64_t> words{0x5555'5500'0010'b848, 0x1234'5678'bfc3'0000, 0xc3};
  heap::RootWords code{std::as_bytes(std::span(words))};
  const auto has = [&](std::uint64_t wanted) {
    bool is_found = false;
    heap::for_each_word(code, [&](std::size_t, std::uint64_t word) { is_found |= word == wanted; });
    return is_found;
  };
  CHECK_FALSE(has(0x5555'5500'0010));
  CHECK_FALSE(has(0x1234'5678));
  code.is_packed = true;
  CHECK(has(0x5555'5500'0010));
  CHECK(has(0x1234'5678));
}

TEST_CASE("roots are all private and shared memory but malloc's own and unused parts of stacks") {
  const std::vector<Range> own{{RemoteAddr{0x20000}, 0x1000}, {RemoteAddr{0x10100}, 0x200}};
  const auto mapping = [](std::uint64_t at, std::uint64_t bytes, bool is_open, const char* path) {
    Mapping made;
    made.range = {RemoteAddr{at}, bytes};
    made.readable = made.writable = is_open;
    made.path = path;
    return made;
  };
  Mapping data = mapping(0x10000, 0x1000, true, "/lib/libc.so.6");
  data.inode = 1;
  Mapping shared = mapping(0x70000, 0x1000, true, "/dev/shm/x");
  shared.is_private = false;
  const MemoryMap map({data, mapping(0x20000, 0x3000, true, "[heap]"),
                       mapping(0x30000, 0x1000, false, ""), mapping(0x31000, 0x2000, true, ""),
                       mapping(0x40000, 0x2000, true, ""), shared});
  FrozenThread guarded{
      .tid = 7, .name = "a", .state = 'S', .registers = Registers{}, .blocked_stack_pointer = {}};
  guarded.registers->stack_pointer = RemoteAddr{0x32100};
  FrozenThread open = guarded;
  open.tid = 8;
  open.registers->stack_pointer = RemoteAddr{0x41000};
  const std::vector<FrozenThread> threads{guarded, open};
  std::vector<Range> found;
  const std::vector<Range> everything{{{0}, std::uint64_t{1} << 47}};
  for (const auto& root : heap::find_roots(own, map, {}, everything, threads))
    found.push_back(root.range);
  const std::vector<Range> expected{{RemoteAddr{0x10000}, 0x100},
                                    {RemoteAddr{0x10300}, 0xd00},
                                    {RemoteAddr{0x21000}, 0x2000},
                                    {RemoteAddr{0x32080}, 0xf80},
                                    // Nothing shows that the next range is only a stack.
                                    {RemoteAddr{0x40000}, 0xf80},
                                    {RemoteAddr{0x40f80}, 0x1080},
                                    {RemoteAddr{0x70000}, 0x1000}};
  CHECK(found == expected);
}

}  // namespace heapattach
