#include "report/diagnose/process_facts.h"

#include <doctest/doctest.h>

namespace heapattach::diagnose {

TEST_CASE("descriptors are of one kind whatever their numbers") {
  CHECK(descriptor_kind("socket:[4711]") == "socket");
  CHECK(descriptor_kind("pipe:[12]") == "pipe");
  CHECK(descriptor_kind("anon_inode:[eventpoll]") == "anon_inode:[eventpoll]");
  CHECK(descriptor_kind("/tmp/odd:[1]") == "/tmp/odd:[1]");
}

TEST_CASE("the data of an epoll instance is what the program gave it") {
  CHECK(epoll_data("pos:\t0\nflags:\t02\n"
                   "tfd:        5 events:       19 data:     55d0c0de10  pos:0 ino:1 sdev:9\n"
                   "tfd:        6 events:       19 data:        6  pos:0 ino:1 sdev:9\n") ==
        std::vector<std::uint64_t>{0x55d0c0de10, 6});
}

}  // namespace heapattach::diagnose
