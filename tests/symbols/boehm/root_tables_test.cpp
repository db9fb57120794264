#include "symbols/boehm/root_tables.h"

#include <doctest/doctest.h>

#include "tests/fakes/fake_memory.h"

namespace heapattach::boehm {

using namespace heap;
namespace {

constexpr RemoteAddr kData{0x5555'0000'0000};
constexpr std::uint64_t kDataBytes = 0x10000;
constexpr RemoteAddr kArrays{kData + 0x1000};
constexpr RemoteAddr kTopIndex{kArrays + 0x8000};
constexpr std::uint64_t kArraysBytes = 0x8000 + 2048 * 8;
constexpr RemoteAddr kIndex{kArrays + 0x800};
constexpr RemoteAddr kAreas{kArrays + 0x1000};
constexpr RemoteAddr kExcluded{kArrays + 0x6000};

std::uint64_t hash_of(std::uint64_t start) {
  return (start ^ start >> 6 ^ start >> 12 ^ start >> 18 ^ start >> 24 ^ start >> 30 ^ start >> 36 ^
          start >> 42 ^ start >> 48 ^ start >> 54 ^ start >> 60) &
         63;
}

// The tables as the collector lays them out in its data.
struct FakeTables {
  FakeMemory memory;
  Collector collector;
  std::uint64_t areas = 0;

  FakeTables() {
    memory.map_zero(kData, kDataBytes);
    collector.layout.top_index = kTopIndex;
    exclude(0, kArrays, kArraysBytes);
  }
  void exclude(std::uint64_t number, RemoteAddr start, std::uint64_t bytes) {
    memory.put(kExcluded + number * 16, start);
    memory.put(kExcluded + number * 16 + 8, start + bytes);
  }
  // Adds an area at the head of the chain for its hash, as the collector does.
  void add(RemoteAddr start, std::uint64_t bytes, bool is_temporary) {
    const RemoteAddr at = kAreas + areas++ * 32;
    const RemoteAddr head = kIndex + hash_of(start.value) * 8;
    memory.put(at, start);
    memory.put(at + 8, start + bytes);
    memory.put(at + 16, *memory.read_as<std::uint64_t>(head));
    memory.put(at + 24, std::uint32_t{is_temporary ? 1U : 0U});
    memory.put(head, at);
  }
  [[nodiscard]] RootTables read() const {
    const Range data{kData, kDataBytes};
    return read_root_tables(collector, {&data, 1}, memory);
  }
};

TEST_CASE("areas and exclusions are found in the collector's data") {
  FakeTables fake;
  fake.add(kData, kDataBytes, true);  // contains the index, too, and is not an exclusion
  fake.add({0x7000'0000'0000}, 64, false);
  fake.add({0x7000'0000'1000}, 8, false);
  fake.exclude(1, kArrays + kArraysBytes + 64, 0x100);
  fake.exclude(2, {0x7000'0000'0010}, 16);
  const RootTables tables = fake.read();
  CHECK(tables.has_index);
  CHECK(tables.areas == std::vector<RootArea>{{{kData, kDataBytes}, true},
                                              {{{0x7000'0000'0000}, 64}, false},
                                              {{{0x7000'0000'1000}, 8}, false}});
  CHECK(tables.excluded == std::vector<Range>{{kArrays, kArraysBytes},
                                              {kArrays + kArraysBytes + 64, 0x100},
                                              {{0x7000'0000'0010}, 16}});
  CHECK(tables.registers_modules);
  CHECK_FALSE(tables.filters_modules);
  CHECK(tables.problem.empty());
}

TEST_CASE("many areas are found, chained by hash") {
  FakeTables fake;
  for (std::uint64_t i = 0; i < 150; ++i) fake.add({0x7000'0000'0000 + i * 4096}, 16, false);
  CHECK(fake.read().areas.size() == 150);
}

TEST_CASE("an entry that no chain references no longer counts") {
  FakeTables fake;
  fake.add({0x7000'0000'0000}, 64, false);
  fake.add({0x7000'0000'1000}, 64, false);
  fake.memory.put(kIndex + hash_of(0x7000'0000'1000) * 8, std::uint64_t{0});
  CHECK(fake.read().areas == std::vector<RootArea>{{{{0x7000'0000'0000}, 64}, false}});
}

TEST_CASE("an index is ignored unless all of it fits") {
  FakeTables fake;
  fake.add({0x7000'0000'0000}, 64, false);
  SUBCASE("a chain that goes in a circle") {
    fake.memory.put(kAreas + 16, kAreas);
  }
  SUBCASE("an area under another's hash") {
    fake.memory.put(kIndex + (hash_of(0x7000'0000'0000) + 1) % 64 * 8, kAreas);
  }
  SUBCASE("a chain that points outside the data") {
    fake.memory.put(kAreas + 16, std::uint64_t{0x7fff'0000'0000});
  }
  SUBCASE("an area that ends before it begins") {
    fake.memory.put(kAreas + 8, std::uint64_t{0x6fff'0000'0000});
  }
  CHECK_FALSE(fake.read().has_index);
}

TEST_CASE("whether a collection registers modules is known from the collector or from its table") {
  FakeTables fake;
  const RemoteAddr collections = kData + 64;
  const RemoteAddr no_dls = kData + 72;
  const RemoteAddr filter = kData + 80;
  fake.collector.collections = collections;
  fake.memory.put(collections, std::uint64_t{3});
  SUBCASE("no table after a collection") {
    CHECK_FALSE(fake.read().problem.empty());
  }
  SUBCASE("no table before the first collection") {
    fake.memory.put(collections, std::uint64_t{0});
    CHECK(fake.read().problem.empty());
  }
  SUBCASE("only the program's areas after a collection") {
    fake.add({0x7000'0000'0000}, 64, false);
    CHECK_FALSE(fake.read().registers_modules);
  }
  SUBCASE("switched off") {
    fake.collector.no_dls = no_dls;
    fake.add(kData, kDataBytes, true);
    CHECK(fake.read().registers_modules);
    fake.memory.put(no_dls, std::uint32_t{1});
    CHECK_FALSE(fake.read().registers_modules);
    CHECK(fake.read().problem.empty());
  }
  SUBCASE("a filter without a symbol keeps the collector's own module out") {
    fake.add({0x7000'0000'0000}, 64, true);
    CHECK(fake.read().filters_modules);
    fake.add(kData, kDataBytes, true);
    CHECK_FALSE(fake.read().filters_modules);
  }
  SUBCASE("a filter") {
    fake.collector.roots_filter = filter;
    fake.add(kData, kDataBytes, true);
    fake.memory.put(filter, std::uint64_t{0x401000});
    CHECK(fake.read().filters_modules);
  }
}

}  // namespace
}  // namespace heapattach::boehm
