#include "attach/base/count_ones.h"

#include <cstdint>

#include <doctest/doctest.h>

namespace heapattach {
namespace {

TEST_CASE("the ones of a word are counted, wherever they are") {
  CHECK(count_ones(0) == 0);
  CHECK(count_ones(~std::uint64_t{0}) == 64);
  for (unsigned at = 0; at < 64; ++at) {
    const std::uint64_t bit = std::uint64_t{1} << at;
    CHECK(count_ones(bit) == 1);
    CHECK(count_ones(bit - 1) == at);
    CHECK(count_ones(~bit) == 63);
  }
}

}  // namespace
}  // namespace heapattach
