#include "symbols/boehm/size_classes.h"

#include <doctest/doctest.h>

namespace heapattach::boehm {

// The results of GC_size() in a program whose first object above 384 bytes has the first size.
TEST_CASE("a slot may hold each request of its size class, whatever came first") {
  CHECK(may_hold_request(752, 744));
  CHECK(may_hold_request(1024, 744));   // after 856
  CHECK(may_hold_request(1024, 612));   // after 808
  CHECK(may_hold_request(1344, 780));   // after 1040
  CHECK(may_hold_request(2048, 1020));  // after 1344
  CHECK(may_hold_request(800, 516));    // after 688
  CHECK(may_hold_request(2048, 2047));
}

TEST_CASE("a slot holds no request below its size class, nor one above its size") {
  CHECK_FALSE(may_hold_request(1024, 611));
  CHECK_FALSE(may_hold_request(1344, 779));
  CHECK_FALSE(may_hold_request(2048, 1019));
  CHECK_FALSE(may_hold_request(1024, 1025));
  CHECK_FALSE(may_hold_request(128, 24));
  CHECK_FALSE(may_hold_request(0, 24));
}

TEST_CASE("an object of more than half a block has a slot of its own size") {
  CHECK(may_hold_request(2064, 2048));
  CHECK(may_hold_request(4096, 4090));
  CHECK_FALSE(may_hold_request(8192, 4096));
}

}  // namespace heapattach::boehm
