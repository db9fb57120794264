#include "report/collect/memory_account.h"

#include <doctest/doctest.h>

#include "attach/base/page.h"

namespace heapattach::snapshot {

namespace {

const std::uint64_t kPage = page_bytes();

SeenMapping mapping(std::uint64_t start,
                    std::uint64_t pages,
                    std::uint64_t resident,
                    const char* path = "") {
  SeenMapping made;
  made.mapping.mapping.range = {RemoteAddr{start}, pages * kPage};
  made.mapping.mapping.path = path;
  made.mapping.mapping.inode = *path == '/' ? 1 : 0;
  made.mapping.resident_bytes = resident * kPage;
  return made;
}

}  // namespace

TEST_CASE("each mapping counts towards one use, and all uses add up to the resident size") {
  SeenMemory seen;
  seen.mappings = {mapping(0x10000, 4, 2, "/srv/app"),
                   mapping(0x20000, 2, 1, "[heap]"),
                   mapping(0x30000, 8, 3),
                   mapping(0x40000, 8, 5),
                   mapping(0x50000, 1, 1, "[vdso]"),
                   mapping(0x60000, 9, 4),
                   mapping(0x70000, 6, 6, "[stack]")};
  seen.stacks = {RemoteAddr{0x30000}, RemoteAddr{0x60008}};
  seen.fibers = {RemoteAddr{0x40ff0}, RemoteAddr{0x60008}};  // one of them on a thread
  const MemoryAccount account = account_for(seen);
  CHECK(account.of(MemoryUse::Files) == MemoryShare{3 * kPage, 5 * kPage});
  CHECK(account.of(MemoryUse::Malloc) == MemoryShare{kPage, 2 * kPage});
  CHECK(account.of(MemoryUse::ThreadStacks) == MemoryShare{9 * kPage, 14 * kPage});
  CHECK(account.of(MemoryUse::FiberStacks) == MemoryShare{9 * kPage, 17 * kPage});
  CHECK(account.thread_stacks == 2);
  CHECK(account.fiber_stacks == 2);
  CHECK(account.total == MemoryShare{22 * kPage, 38 * kPage});
}

TEST_CASE("a mapping with blocks of the heap is counted page by page") {
  SeenMemory seen;
  SeenMapping heap = mapping(0x10000, 6, 4);
  //             used          used          free          free           tables        tables
  heap.pages = {{true, true},   {true, true}, {true, false},
                {false, false}, {true, true}, {true, false}};
  seen.mappings = {heap};
  seen.used = {{RemoteAddr{0x10000}, 2 * kPage}};
  seen.free = {{RemoteAddr{0x12000}, 2 * kPage}};
  const MemoryAccount account = account_for(seen);
  CHECK(account.of(MemoryUse::BlocksInUse) == MemoryShare{2 * kPage, 2 * kPage});
  CHECK(account.of(MemoryUse::FreeBlocks) == MemoryShare{kPage, 2 * kPage});
  CHECK(account.of(MemoryUse::Other) == MemoryShare{kPage, 2 * kPage});
  CHECK(account.total == MemoryShare{4 * kPage, 6 * kPage});
}

TEST_CASE("malloc's memory is told apart from what is next to it") {
  SeenMemory seen;
  SeenMapping shared = mapping(0x10000, 4, 3);  // two of its pages are malloc's
  shared.pages = {{true, true}, {true, true}, {true, true}, {false, false}};
  SeenMapping whole = mapping(0x20000, 2, 2);
  whole.is_mallocs = true;
  seen.mappings = {shared, whole, mapping(0x30000, 1, 1, "[heap]")};
  seen.malloc = {{RemoteAddr{0x10000}, 2 * kPage}, {RemoteAddr{0x20000}, 2 * kPage}};
  const MemoryAccount account = account_for(seen);
  CHECK(account.of(MemoryUse::Malloc) == MemoryShare{5 * kPage, 5 * kPage});
  CHECK(account.of(MemoryUse::Other) == MemoryShare{kPage, 2 * kPage});
  CHECK(account.has_all_of_malloc);
  REQUIRE(account.largest.size() == 1);
  CHECK(account.largest[0].share == MemoryShare{kPage, 2 * kPage});
}

TEST_CASE("the largest parts outside the heap are named, and those of one file are one") {
  SeenMemory seen;
  seen.mappings = {mapping(0x10000, 4, 2, "/srv/data"), mapping(0x20000, 8, 3),
                   mapping(0x30000, 4, 4, "/srv/data"), mapping(0x40000, 8, 5),
                   mapping(0x50000, 9, 9, "[heap]"),    mapping(0x60000, 9, 0, "/srv/unused")};
  seen.stacks = {RemoteAddr{0x20100}};
  seen.owners = {{RemoteAddr{0x20100}, 4711, "worker"}};
  const MemoryAccount account = account_for(seen);
  REQUIRE(account.largest.size() == 3);
  CHECK(account.largest[0].name == "/srv/data");
  CHECK(account.largest[0].share == MemoryShare{6 * kPage, 8 * kPage});
  CHECK(account.largest[1].name == "anonymous memory at 0x40000");
  CHECK(account.largest[2].name == "the stack of thread 4711 (worker)");
}

TEST_CASE("the kernel's total is kept, whatever it reports about single pages") {
  SeenMemory seen;
  SeenMapping heap = mapping(0x10000, 2, 2);
  heap.pages = {{false, false}, {false, false}};
  SUBCASE("fewer pages are present than were resident") {}
  SUBCASE("more pages are present") {
    heap.mapping.resident_bytes = 0;
    heap.pages = {{true, false}, {true, true}};
  }
  seen.mappings = {heap};
  seen.used = {{RemoteAddr{0x10000}, kPage}};
  CHECK(account_for(seen).total.resident_bytes == heap.mapping.resident_bytes);
}

}  // namespace heapattach::snapshot
