#include "report/stacks/radix_sort.h"

#include <array>
#include <cstddef>
#include <utility>

namespace heapattach {

namespace {

constexpr unsigned kDigitBits = 11;
constexpr std::uint64_t kMask = (1U << kDigitBits) - 1;

}  // namespace

void radix_sort(std::vector<std::uint64_t>& words) {
  std::uint64_t differing = 0;
  for (const std::uint64_t word : words) differing |= word ^ words.front();
  std::vector<std::uint64_t> other(words.size());
  for (unsigned shift = 0; shift < 64; shift += kDigitBits) {
    if ((differing >> shift & kMask) == 0) continue;
    std::array<std::size_t, kMask + 1> places{};
    for (const std::uint64_t word : words) ++places[word >> shift & kMask];
    std::size_t next = 0;
    for (std::size_t& place : places) next += std::exchange(place, next);
    for (const std::uint64_t word : words) other[places[word >> shift & kMask]++] = word;
    words.swap(other);
  }
}

}  // namespace heapattach
