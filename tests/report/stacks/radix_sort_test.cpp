#include "report/stacks/radix_sort.h"

#include <algorithm>
#include <random>

#include <doctest/doctest.h>

namespace heapattach {

TEST_CASE("a radix sort sorts as any sort does") {
  std::mt19937_64 random(20);
  for (const std::size_t count : {0U, 1U, 2U, 3U, 100U, 5000U}) {
    for (const unsigned bits : {1U, 11U, 12U, 40U, 64U}) {
      CAPTURE(count);
      CAPTURE(bits);
      std::vector<std::uint64_t> words(count);
      for (std::uint64_t& word : words) word = (random() >> (64 - bits)) ^ 0x7f3a00000000;
      std::vector<std::uint64_t> sorted = words;
      std::sort(sorted.begin(), sorted.end());
      radix_sort(words);
      CHECK(words == sorted);
    }
  }
}

}  // namespace heapattach
