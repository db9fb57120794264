#include "attach/base/fault_points.h"

#include <set>

#include <doctest/doctest.h>

namespace heapattach {

TEST_CASE("each fault point has a unique name") {
  std::set<std::string_view> names;
  for (std::size_t number = 1; number <= kFaultPoints; ++number) {
    CAPTURE(number);
    CHECK_FALSE(fault_point_name(number).empty());
    CHECK(names.insert(fault_point_name(number)).second);
  }
  CHECK(fault_point_name(0).empty());
  CHECK(fault_point_name(kFaultPoints + 1).empty());
}

}  // namespace heapattach
