#include "report/stacks/radix_sort.h"

#include <array>
#include <cstddef>
#include <utility>

namespace heapattach {

namespace {

constexpr unsigned kDigitBits = 11;
constexpr std::size_t kDigits = (64 + kDigitBits - 1) / kDigitBits;
constexpr std::uint64_t kMask = (1U << kDigitBits) - 1;

using Counts = std::array<std::size_t, kMask + 1>;

std::size_t digit_of(std::uint64_t word, std::size_t digit) {
  return word >> (digit * kDigitBits) & kMask;
}

}  // namespace

void radix_sort(std::vector<std::uint64_t>& words) {
  std::vector<Counts> counts(kDigits);
  for (const std::uint64_t word : words) {
    for (std::size_t digit = 0; digit < kDigits; ++digit) ++counts[digit][digit_of(word, digit)];
  }
  std::vector<std::uint64_t> other(words.size());
  for (std::size_t digit = 0; digit < kDigits && !words.empty(); ++digit) {
    Counts& places = counts[digit];
    if (places[digit_of(words.front(), digit)] == words.size()) continue;
    std::size_t next = 0;
    for (std::size_t& place : places) next += std::exchange(place, next);
    for (const std::uint64_t word : words) other[places[digit_of(word, digit)]++] = word;
    words.swap(other);
  }
}

}  // namespace heapattach
