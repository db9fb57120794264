#include "symbols/unwind/code_units.h"

#include <doctest/doctest.h>

namespace heapattach::unwind {

TEST_CASE("code in a range that another one interrupts still belongs to it") {
  CodeRanges ranges;
  ranges.add(0x3000, 0x3100, 2);
  ranges.add(0x1000, 0x2000, 0);
  ranges.add(0x1400, 0x1500, 1);
  ranges.sort();
  CHECK(ranges.at(0x1000) == 0U);
  CHECK(ranges.at(0x1450) == 1U);  // the inner one
  CHECK(ranges.at(0x1500) == 0U);  // after the inner one
  CHECK(ranges.at(0x1fff) == 0U);
  CHECK_FALSE(ranges.at(0x2000));
  CHECK_FALSE(ranges.at(0xfff));
  CHECK(ranges.at(0x30ff) == 2U);
  CHECK_FALSE(ranges.at(0x3100));
}

TEST_CASE("without ranges there is no code") {
  CHECK_FALSE(CodeRanges().at(0x1000));
}

}  // namespace heapattach::unwind
