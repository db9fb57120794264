#include "attach/base/near_search.h"

#include <vector>

#include <doctest/doctest.h>

namespace heapattach {

TEST_CASE("a search from any guess finds what a search of everything finds") {
  for (int size = 0; size <= 40; ++size) {
    std::vector<int> numbers;
    for (int i = 0; i < size; ++i) numbers.push_back(i);
    for (int point = 0; point <= size; ++point) {
      for (int guess = 0; guess <= size; ++guess) {
        const auto found =
            partition_point_near(numbers.begin(), numbers.end(), numbers.begin() + guess,
                                 [point](int number) { return number < point; });
        REQUIRE(found - numbers.begin() == point);
      }
    }
  }
}

TEST_CASE("a search looks only at what is near a good guess") {
  std::vector<int> numbers(100'000);
  for (int i = 0; i < 100'000; ++i) numbers[static_cast<std::size_t>(i)] = i;
  for (const int away : {-3, -1, 0, 1, 3}) {
    CAPTURE(away);
    int looks = 0;
    const auto found = partition_point_near(numbers.begin(), numbers.end(),
                                            numbers.begin() + 50'000 + away, [&](int number) {
                                              ++looks;
                                              return number < 50'000;
                                            });
    CHECK(found - numbers.begin() == 50'000);
    CHECK(looks <= 8);
  }
}

}  // namespace heapattach
