#pragma once

#include <cstdint>

namespace heapattach {

// std::popcount without the call that compilers make of it for processors that may lack the
// instruction.
inline std::uint64_t count_ones(std::uint64_t word) {
  constexpr std::uint64_t kEach2 = 0x5555555555555555;
  constexpr std::uint64_t kEach4 = 0x3333333333333333;
  constexpr std::uint64_t kEach8 = 0x0f0f0f0f0f0f0f0f;
  constexpr std::uint64_t kSumOfBytes = 0x0101010101010101;
  word -= word >> 1 & kEach2;
  word = (word & kEach4) + (word >> 2 & kEach4);
  word = (word + (word >> 4)) & kEach8;
  return word * kSumOfBytes >> 56;
}

}  // namespace heapattach
