#include "report/typing/typing_regions.h"

#include <atomic>
#include <thread>

#include <doctest/doctest.h>

namespace heapattach::snapshot {
namespace {

std::unique_ptr<ClaimChunk> chunk_of(std::uint64_t word) {
  auto chunk = std::make_unique<ClaimChunk>();
  chunk->claims[chunk->count++] = {word, 0, 0};
  return chunk;
}

TEST_CASE("each block of a heap is in one region, whatever its size") {
  for (const std::size_t blocks :
       {std::size_t{0}, std::size_t{1}, std::size_t{5000}, std::size_t{123'456'789}}) {
    const TypingRegions regions(blocks, 1);
    CAPTURE(blocks);
    CHECK(regions.first_block(0) == 0);
    CHECK(regions.end_block(regions.count() - 1) == blocks);
    for (std::uint32_t region = 1; region < regions.count(); ++region) {
      REQUIRE(regions.first_block(region) == regions.end_block(region - 1));
      REQUIRE(regions.of(regions.first_block(region)) == region);
      REQUIRE(regions.of(regions.first_block(region) - 1) == region - 1);
    }
  }
}

TEST_CASE("work left for a region goes to its holder, before it can be released") {
  TypingRegions regions(5000, 2);
  ClaimChunks taken;
  std::unique_ptr<ClaimChunk> found;
  regions.leave(3, chunk_of(16));
  CHECK(regions.waiting_for(3) == 1);
  REQUIRE(regions.hold(3, found, taken));
  CHECK(taken.at(0)->claims[0].word == 16);
  CHECK(regions.waiting() == 0);
  CHECK(regions.begin(3));
  CHECK_FALSE(regions.begin(3));

  ClaimChunks of_another;
  found = chunk_of(32);
  CHECK_FALSE(regions.hold(3, found, of_another));
  CHECK(found == nullptr);
  CHECK(of_another.empty());
  taken.clear();
  REQUIRE(regions.take_or_release(3, taken));
  CHECK(taken.at(0)->claims[0].word == 32);
  taken.clear();
  CHECK_FALSE(regions.take_or_release(3, taken));
  CHECK(regions.hold(3, found, of_another));
}

TEST_CASE("an idle worker gets a region that no worker holds") {
  TypingRegions regions(5000, 2);
  ClaimChunks taken;
  std::unique_ptr<ClaimChunk> found;
  REQUIRE(regions.hold(1, found, taken));
  regions.offer(1);  // its holder takes care of it
  regions.offer(2);
  regions.give({{7, 0, 9}});
  TypingRegions::Task parts;
  REQUIRE(regions.wait_for(parts));
  CHECK(parts.parts.size() == 1);
  TypingRegions::Task region;
  REQUIRE(regions.wait_for(region));
  CHECK(region.region == 2);
  CHECK_FALSE(regions.hold(2, found, taken));
}

TEST_CASE("typing ends when all workers wait, and when one of them fails") {
  TypingRegions regions(5000, 2);
  std::atomic<bool> is_found{true};
  {
    const std::jthread waiting([&] {
      TypingRegions::Task task;
      is_found = regions.wait_for(task);
    });
    SUBCASE("all wait") {
      TypingRegions::Task task;
      CHECK_FALSE(regions.wait_for(task));
    }
    SUBCASE("one fails") {
      regions.abandon();
      CHECK(regions.is_abandoned());
    }
  }
  CHECK_FALSE(is_found);
}

}  // namespace
}  // namespace heapattach::snapshot
