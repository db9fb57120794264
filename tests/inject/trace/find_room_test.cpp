#include "inject/trace/find_room.h"

#include <array>

#include <doctest/doctest.h>

namespace heapattach::trace {

namespace {

constexpr std::uint64_t kBytes = 0x100000;

MemoryMap map_of(std::string_view text) {
  auto map = parse_maps(text);
  REQUIRE(map);
  return *std::move(map);
}

}  // namespace

TEST_CASE("room is below the library, where the kernel maps libraries too") {
  const MemoryMap map = map_of(
      "7f0000000000-7f0000100000 r-xp 00000000 08:01 5 /lib/libgc.so\n"
      "7f0000100000-7f0000200000 r-xp 00000000 08:01 6 /lib/libc.so\n"
      "7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0 [stack]\n");
  const std::array near = {RemoteAddr{0x7f0000001000}};
  const auto room = find_room(map, kBytes, near);
  REQUIRE(room);
  CHECK(room->value + kBytes <= 0x7f0000000000);
  CHECK(room->value > 0x7f0000000000 - 0x1000000);
}

TEST_CASE("room is never next to the heap's end or the main stack") {
  // Not even in the gap between them, which is the only large one.
  const MemoryMap map = map_of(
      "00020000-00600000 r-xp 00000000 08:01 5 /bin/program\n"
      "00600000-00800000 rw-p 00000000 00:00 0 [heap]\n"
      "7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0 [stack]\n");
  const std::array near = {RemoteAddr{0x400000}};
  CHECK(!find_room(map, kBytes, near));
}

TEST_CASE("a program at a low address has room below it") {
  const MemoryMap map = map_of(
      "00400000-00600000 r-xp 00000000 08:01 5 /bin/program\n"
      "01600000-01800000 rw-p 00000000 00:00 0 [heap]\n"
      "7f0000000000-7f0000100000 r-xp 00000000 08:01 6 /lib/libc.so\n");
  const std::array near = {RemoteAddr{0x410000}};
  const auto room = find_room(map, kBytes, near);
  REQUIRE(room);
  CHECK(room->value + kBytes <= 0x400000);
}

TEST_CASE("entries too far apart have no room in reach of both") {
  const MemoryMap map = map_of(
      "10000000000-10000100000 r-xp 00000000 08:01 5 /bin/program\n"
      "7f0000000000-7f0000100000 r-xp 00000000 08:01 6 /lib/libgc.so\n");
  const std::array near = {RemoteAddr{0x10000000000}, RemoteAddr{0x7f0000000000}};
  CHECK(!find_room(map, kBytes, near));
}

}  // namespace heapattach::trace
