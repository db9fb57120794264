#pragma once

#include <cstdint>

#include "report/typing/claim_fit.h"

namespace heapattach::snapshot {

// The type of each object slot: a rank and a row in 32 bits. A higher value is better; 0 means
// none.
class TypeCells {
 public:
  static std::uint32_t encode(Rank rank, TypeIndex row) {
    return static_cast<std::uint32_t>(rank) << kRowBits | (kRowMask - row);
  }
  static Rank rank_of(std::uint32_t cell) { return static_cast<Rank>(cell >> kRowBits); }
  static TypeIndex row_of(std::uint32_t cell) { return kRowMask - (cell & kRowMask); }

 private:
  static constexpr unsigned kRowBits = 29;
  static constexpr std::uint32_t kRowMask = (1U << kRowBits) - 1;
};

}  // namespace heapattach::snapshot
