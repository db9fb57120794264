#include "symbols/heap/ranges.h"

#include <doctest/doctest.h>

namespace heapattach {

namespace {

const std::vector<Range> kHoles{
    {RemoteAddr{0x100}, 0x10}, {RemoteAddr{0x200}, 0x20}, {RemoteAddr{0x300}, 0x8}};

}  // namespace

TEST_CASE("ranges that only touch memory do not overlap it") {
  const auto found = [](std::uint64_t start, std::uint64_t bytes) {
    return heap::overlapping(kHoles, {RemoteAddr{start}, bytes}).size();
  };
  CHECK(found(0x110, 0xf0) == 0);
  CHECK(found(0x10f, 0xf1) == 1);
  CHECK(found(0x110, 0xf1) == 1);
  CHECK(found(0, 0x1000) == 3);
  CHECK(found(0x210, 8) == 1);
  CHECK(heap::overlapping({}, {RemoteAddr{0}, 0x1000}).empty());
}

TEST_CASE("the parts outside holes are visited in order, without empty ones") {
  std::vector<Range> parts;
  heap::for_each_outside({RemoteAddr{0x208}, 0x100}, kHoles,
                         [&](const Range& part) { parts.push_back(part); });
  CHECK(parts == std::vector<Range>{{RemoteAddr{0x220}, 0xe0}});
  parts.clear();
  heap::for_each_outside({RemoteAddr{0xf0}, 0x20}, kHoles,
                         [&](const Range& part) { parts.push_back(part); });
  CHECK(parts == std::vector<Range>{{RemoteAddr{0xf0}, 0x10}});
}

}  // namespace heapattach
