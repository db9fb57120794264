#include "attach/kernel/kept_words.h"

#include <doctest/doctest.h>

namespace heapattach {

TEST_CASE("the data of an epoll instance is what the program gave it") {
  CHECK(epoll_data("pos:\t0\nflags:\t02\n"
                   "tfd:        5 events:       19 data:     55d0c0de10  pos:0 ino:1 sdev:9\n"
                   "tfd:        6 events:       19 data:        6  pos:0 ino:1 sdev:9\n") ==
        std::vector<std::uint64_t>{0x55d0c0de10, 6});
}

TEST_CASE("a timer has the value that its signal brings") {
  CHECK(timer_values("ID: 0\nsignal: 10/0000000000abcdef\nnotify: signal/pid.21808\nClockID: 1\n"
                     "ID: 1\nsignal: 0/00007f0c5c0008c0\nnotify: none/pid.1\nClockID: 0\n") ==
        std::vector<std::uint64_t>{0xabcdef, 0x7f0c5c0008c0});
  CHECK(timer_values("signal: 10\nsignal: 10/x\n").empty());
}

TEST_CASE("a part of a file that is mapped twice is read once") {
  const MappedFile twice{.read = {{0, 4096}, {0, 4096}}, .absent_bytes = 0, .name = {}};
  CHECK(twice.read_bytes() == 4096);
  const MappedFile several{
      .read = {{8192, 4096}, {0, 4096}, {2048, 4096}, {3000, 10}}, .absent_bytes = 0, .name = {}};
  CHECK(several.read_bytes() == 2048 + 2 * 4096);
}

}  // namespace heapattach
