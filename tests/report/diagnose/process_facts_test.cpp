#include "report/diagnose/process_facts.h"

#include <doctest/doctest.h>

namespace heapattach::diagnose {

TEST_CASE("descriptors are of one kind whatever their numbers") {
  CHECK(descriptor_kind("socket:[4711]") == "socket");
  CHECK(descriptor_kind("pipe:[12]") == "pipe");
  CHECK(descriptor_kind("anon_inode:[eventpoll]") == "anon_inode:[eventpoll]");
  CHECK(descriptor_kind("/tmp/odd:[1]") == "/tmp/odd:[1]");
}

}  // namespace heapattach::diagnose
