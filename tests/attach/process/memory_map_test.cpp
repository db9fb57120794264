#include "attach/process/memory_map.h"

#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/sysmacros.h>

#include "attach/process/near_mapping.h"
#include "attach/process/process.h"

namespace heapattach {

namespace {

MemoryMap parsed(std::string_view text) {
  auto map = parse_maps(text);
  REQUIRE(map);
  return std::move(map).value();
}

}  // namespace

TEST_CASE("a line of the memory map gives all its fields") {
  const auto map = parsed(
      "55d0c8a00000-55d0c8a21000 r-xp 00002000 fd:01 1835030                    /usr/bin/w3m\n"
      "7ffd3a5e2000-7ffd3a603000 rw-s 00000000 00:00 0                          [stack]\n"
      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n");
  REQUIRE(map.mappings().size() == 3);
  const Mapping& program = map.mappings()[0];
  CHECK(program.range.start.value == 0x55d0c8a00000);
  CHECK(program.range.bytes == 0x21000);
  CHECK(program.readable);
  CHECK_FALSE(program.writable);
  CHECK(program.executable);
  CHECK(program.is_private);
  CHECK(program.file_offset == 0x2000);
  CHECK(program.device == makedev(0xfd, 1));
  CHECK(program.inode == 1835030);
  CHECK(program.path == "/usr/bin/w3m");
  CHECK_FALSE(program.is_anonymous());
  CHECK(map.mappings()[1].is_anonymous());
  CHECK_FALSE(map.mappings()[1].is_private);
  CHECK(map.mappings()[1].path == "[stack]");
}

TEST_CASE("a file with inode 0 is no anonymous memory") {
  const auto map = parsed(
      "1000-2000 rw-s 00000000 00:01 0                    /SYSV00000000 (deleted)\n"
      "2000-3000 rw-p 00000000 00:00 0                    [heap]\n");
  REQUIRE(map.mappings().size() == 2);
  CHECK_FALSE(map.mappings()[0].is_anonymous());
  CHECK(map.mappings()[1].is_anonymous());
}

TEST_CASE("a path keeps its spaces and newlines, and loses only the deletion mark") {
  const std::string longest(4095, 'x');
  const auto map = parsed(
      "1000-2000 r--p 00000000 00:01 7 /a  b (deleted) c\n"
      "2000-3000 r--p 00000000 00:01 7 /new\\012line\\040 (deleted)\n"
      "3000-4000 r--p 00000000 00:01 7 /" +
      longest +
      "\n"
      "4000-5000 r--p 00000000 00:00 0 \n"
      "5000-6000 r--p 00000000 00:00 0");
  REQUIRE(map.mappings().size() == 5);
  CHECK(map.mappings()[0].path == "/a  b (deleted) c");
  CHECK_FALSE(map.mappings()[0].is_deleted);
  CHECK(map.mappings()[1].path == "/new\nline\\040");
  CHECK(map.mappings()[1].is_deleted);
  CHECK(map.mappings()[2].path == "/" + longest);
  CHECK(map.mappings()[3].path.empty());
  CHECK(map.mappings()[4].range.start.value == 0x5000);
}

TEST_CASE("an address is found in the mapping that holds it") {
  const auto map = parsed(
      "1000-2000 r--p 00000000 00:00 0\n"
      "2000-3000 rw-p 00000000 00:00 0\n"
      "5000-6000 rw-p 00000000 00:00 0\n");
  CHECK(map.find({0xfff}) == nullptr);
  CHECK(map.find({0x1000}) == &map.mappings()[0]);
  CHECK(map.find({0x2000}) == &map.mappings()[1]);
  CHECK(map.find({0x2fff}) == &map.mappings()[1]);
  CHECK(map.find({0x3000}) == nullptr);
  CHECK(map.find({0x6000}) == nullptr);
  CHECK(MemoryMap().find({0}) == nullptr);
}

TEST_CASE("an address is found from any hint") {
  std::string text;
  for (int i = 1; i <= 30; ++i) text += fmt::format("{0:x}000-{0:x}800 rw-p 00000000 00:00 0\n", i);
  const auto map = parsed(text);
  for (std::uint64_t at = 0; at < 0x20000; at += 0x400) {
    for (std::size_t from = 0; from <= 40; ++from) {
      std::size_t hint = from;
      REQUIRE(find_near(map, {at}, hint) == map.find({at}));
      const std::size_t kept = hint;
      REQUIRE(find_near(map, {at}, hint) == map.find({at}));
      REQUIRE(hint == kept);
    }
  }
  std::size_t hint = 7;
  CHECK(find_near(MemoryMap(), {0}, hint) == nullptr);
}

TEST_CASE("a garbled memory map is malformed, and the message names the line") {
  const std::string good = "1000-2000 r--p 00000000 00:00 0\n";
  std::string bad;
  SUBCASE("no address") {
    bad = "hello\n";
  }
  SUBCASE("nothing in the line") {
    bad = "\n";
  }
  SUBCASE("an empty range") {
    bad = "3000-3000 r--p 00000000 00:00 0\n";
  }
  SUBCASE("an end before its start") {
    bad = "4000-3000 r--p 00000000 00:00 0\n";
  }
  SUBCASE("a range over the one before") {
    bad = "1800-3000 r--p 00000000 00:00 0\n";
  }
  SUBCASE("unknown permissions") {
    bad = "3000-4000 q--p 00000000 00:00 0\n";
  }
  SUBCASE("cut off") {
    bad = "3000-4000 r--p 0000";
  }
  SUBCASE("an address in capital letters") {
    bad = "3000-ABCD0000 r--p 00000000 00:00 0\n";
  }
  SUBCASE("an address without digits") {
    bad = "-4000 r--p 00000000 00:00 0\n";
  }
  SUBCASE("an address of 17 digits") {
    bad = "3000-10000000000000000 r--p 00000000 00:00 0\n";
  }
  const auto map = parse_maps(good + bad);
  REQUIRE_FALSE(map);
  CHECK(map.error().kind == ErrorKind::Malformed);
  CHECK(map.error().message().find("line 2") != std::string::npos);
}

TEST_CASE("an empty text is an empty map") {
  CHECK(parsed("").mappings().empty());
}

TEST_CASE("a memory map that changes while it is read is read again, but not forever") {
  const std::string whole =
      "55d0c8a00000-55d0c8a21000 r-xp 00002000 fd:01 7 /usr/bin/w3m\n"
      "7ffd3a5e2000-7ffd3a603000 rw-p 00000000 00:00 0 [stack]\n";
  const std::string joined_meanwhile =
      "55d0c8a00000-55d0c8a21000 r-xp 00002000 fd:01 7 /usr/bin/w3m\n"
      "55d0c8a10000-55d0c8a30000 rw-p 00000000 00:00 0\n";
  int readings = 0;
  const auto read_with = [&](int broken) {
    readings = 0;
    return read_maps(
        [&]() -> Result<std::string> { return ++readings <= broken ? joined_meanwhile : whole; },
        4711);
  };
  const auto map = read_with(5);
  REQUIRE(map);
  CHECK(map->mappings().size() == 2);
  CHECK(readings == 6);
  const auto never = read_with(1'000'000);
  REQUIRE_FALSE(never);
  CHECK(never.error().kind == ErrorKind::Malformed);
  CHECK(readings < 1000);
}

TEST_CASE("a memory map without mappings means that the process is gone") {
  const auto map = read_maps([]() -> Result<std::string> { return std::string(); }, 4711);
  REQUIRE_FALSE(map);
  CHECK(map.error().kind == ErrorKind::Gone);
}

}  // namespace heapattach
