#include "attach/memory/resident.h"

#include <doctest/doctest.h>
#include <unistd.h>

namespace heapattach {

TEST_CASE("smaps show how much of each mapping is resident") {
  const auto found = parse_smaps(
      "55d0c0000000-55d0c0004000 r-xp 00000000 08:01 42 /srv/app\n"
      "Size:                 16 kB\n"
      "Rss:                  12 kB\n"
      "Pss:                  12 kB\n"
      "VmFlags: rd ex mr mw me sd \n"
      "7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0 [stack]\n"
      "Rss:                   8 kB\n");
  REQUIRE(found);
  REQUIRE(found->size() == 2);
  CHECK((*found)[0].resident_bytes == 12 * 1024);
  CHECK((*found)[0].mapping.path == "/srv/app");
  CHECK((*found)[1].resident_bytes == 8 * 1024);
}

TEST_CASE("a page is present, swapped or neither") {
  const PageState own = page_state((std::uint64_t{1} << 63) | (std::uint64_t{1} << 56) | 4711);
  CHECK(own.is_present);
  CHECK(own.is_own);
  CHECK_FALSE(own.is_swapped);
  const PageState swapped = page_state((std::uint64_t{1} << 62) | (std::uint64_t{1} << 56));
  CHECK_FALSE(swapped.is_present);
  CHECK_FALSE(swapped.is_own);
  CHECK(swapped.is_swapped);
  const PageState absent = page_state(0);
  CHECK_FALSE(absent.is_present);
  CHECK_FALSE(absent.is_swapped);
}

TEST_CASE("smaps that make no sense are refused or count as nothing") {
  CHECK(parse_smaps("")->empty());
  CHECK(parse_smaps("Rss: 1 kB\n")->empty());
  CHECK_FALSE(parse_smaps("5000-4000 rw-p 00000000 00:00 0\nRss: 4 kB\n"));
  const auto huge = parse_smaps("4000-5000 rw-p 00000000 00:00 0\nRss: 99999999999999999999 kB\n");
  REQUIRE(huge);
  CHECK(huge->front().resident_bytes == 0);
}

}  // namespace heapattach
