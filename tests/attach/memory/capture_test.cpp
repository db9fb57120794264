#include "attach/memory/capture.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/fakes/fake_memory.h"

namespace heapattach {

namespace {

constexpr std::size_t kPage = 4096;

// Each word holds its own address.
void map_numbered(FakeMemory& memory, std::uint64_t at, std::size_t bytes) {
  memory.map_zero({at}, bytes);
  for (std::uint64_t word = at; word < at + bytes; word += 8) memory.put({word}, word);
}

Capture capture_of(std::size_t bytes) {
  auto arena = Arena::reserve(bytes, bytes);
  REQUIRE(arena);
  return Capture(std::move(arena).value());
}

}  // namespace

TEST_CASE("a capture reads as the target did") {
  FakeMemory memory;
  map_numbered(memory, 0x10000, 2 * kPage);
  map_numbered(memory, 0x20000, kPage);
  Capture capture = capture_of(8 * kPage);
  const std::vector<Range> ranges{{{0x10008}, kPage}, {{0x20000}, 64}};
  REQUIRE(capture.add(memory, ranges, {}));
  CHECK(capture.read_as<std::uint64_t>({0x10008}).value() == 0x10008);
  CHECK(capture.read_as<std::uint64_t>({0x11000}).value() == 0x11000);
  CHECK(capture.read_as<std::uint64_t>({0x20038}).value() == 0x20038);
  CHECK(capture.bytes_from({0x10010}).size() == kPage - 8);
  CHECK(capture.bytes_from({0x10007}).empty());
  CHECK(capture.bytes_from({0x20040}).empty());
  CHECK(capture.read_as<std::uint64_t>({0x2003c}).error().kind == ErrorKind::Fault);
  CHECK(capture.holes().empty());
}

TEST_CASE("what has no contents reads as zero, whatever was there before") {
  constexpr std::size_t kMapped = 4U << 20;
  FakeMemory memory;
  map_numbered(memory, 0x10000, kMapped + 2 * kPage);
  auto arena = Arena::reserve(2 * kMapped, 2 * kMapped);
  REQUIRE(arena);
  std::fill(arena->bytes().begin(), arena->bytes().end(), std::byte{0xab});
  Capture capture(std::move(arena).value());
  // The first piece starts so that the pages of the copy are not those of the target.
  const std::vector<Range> ranges{{{0x10008}, 16}, {{0x11000}, kMapped}};
  const std::vector<Range> parts{
      {{0x10008}, 16}, {{0x12000}, kPage}, {{0x14000}, 8}, {{0x11000 + kMapped - 8}, 8}};
  REQUIRE(capture.add_parts(memory, ranges, parts, {}));
  CHECK(capture.bytes_from({0x11000}).size() == kMapped);
  const auto is_copied = [&](std::uint64_t at) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](const Range& part) { return part.contains(RemoteAddr{at}); });
  };
  for (std::uint64_t at = 0x11000; at < 0x11000 + kMapped; at += 8) {
    REQUIRE(capture.read_as<std::uint64_t>({at}).value() == (is_copied(at) ? at : 0));
  }
  CHECK(capture.read_as<std::uint64_t>({0x10010}).value() == 0x10010);
}

TEST_CASE("adjacent ranges become one piece") {
  FakeMemory memory;
  map_numbered(memory, 0x10000, 4 * kPage);
  Capture capture = capture_of(8 * kPage);
  const std::vector<Range> ranges{{{0x10000}, 24}, {{0x10018}, kPage}, {{0x11018}, 8}};
  REQUIRE(capture.add(memory, ranges, {}));
  CHECK(capture.bytes_from({0x10000}).size() == kPage + 32);
}

TEST_CASE("data that is aligned in the target is aligned in the copy") {
  FakeMemory memory;
  map_numbered(memory, 0x10000, kPage);
  Capture capture = capture_of(8 * kPage);
  const std::vector<Range> ranges{{{0x10003}, 5}, {{0x10010}, 8}, {{0x10100}, 8}};
  REQUIRE(capture.add(memory, ranges, {}));
  for (const std::uint64_t at : {0x10003UL, 0x10010UL, 0x10100UL}) {
    CHECK(reinterpret_cast<std::uintptr_t>(capture.bytes_from({at}).data()) % 64 == at % 64);
  }
}

TEST_CASE("a later add leaves earlier bytes in place, and may be at lower addresses") {
  FakeMemory memory;
  map_numbered(memory, 0x10000, kPage);
  map_numbered(memory, 0x20000, kPage);
  map_numbered(memory, 0x30000, kPage);
  Capture capture = capture_of(8 * kPage);
  REQUIRE(capture.add(memory, std::vector<Range>{{{0x20000}, kPage}}, {}));
  const auto* const before = capture.bytes_from({0x20000}).data();
  REQUIRE(capture.add(
      memory, std::vector<Range>{{{0x10000}, kPage}, {{0x30000}, kPage}, {{0x40000}, 0}}, {}));
  CHECK(capture.bytes_from({0x20000}).data() == before);
  for (const std::uint64_t at : {0x10000UL, 0x20000UL, 0x30000UL}) {
    CHECK(capture.read_as<std::uint64_t>({at + 8}).value() == at + 8);
  }
}

TEST_CASE("holes read as zero and are listed") {
  FakeMemory memory;
  map_numbered(memory, 0x10000, kPage);
  map_numbered(memory, 0x12000, kPage);
  Capture capture = capture_of(8 * kPage);
  REQUIRE(capture.add(memory, std::vector<Range>{{{0x10000}, 3 * kPage}}, {}));
  CHECK(capture.holes() == std::vector<Range>{{{0x11000}, kPage}});
  CHECK(capture.read_as<std::uint64_t>({0x11008}).value() == 0);
  CHECK(capture.read_as<std::uint64_t>({0x12008}).value() == 0x12008);
}

TEST_CASE("ranges that do not fit are refused, and nothing is lost") {
  FakeMemory memory;
  map_numbered(memory, 0x10000, kPage);
  Capture capture = capture_of(kPage);
  REQUIRE(capture.add(memory, std::vector<Range>{{{0x10000}, 64}}, {}));
  const auto refused =
      capture.add(memory, std::vector<Range>{{{0x20000}, std::uint64_t{1} << 62}}, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message().find("0x20000") != std::string::npos);
  CHECK(capture.read_as<std::uint64_t>({0x10008}).value() == 0x10008);
}

TEST_CASE("an empty arena, and a moved one, are harmless") {
  auto arena = Arena::reserve(0, 0);
  REQUIRE(arena);
  Arena moved = std::move(*arena);
  CHECK(arena->bytes().empty());
  moved = Arena::reserve(kPage, kPage).value();
  CHECK(moved.bytes().size() == kPage);
  CHECK_FALSE(Arena::reserve(SIZE_MAX, 0));
}

}  // namespace heapattach
