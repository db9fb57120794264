#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "report/typing/type_rows.h"

namespace heapattach::snapshot {

// The claims of all rows in one array, so that a claim is a number and the claims of a row are
// adjacent. Typing reads claims a hundred million times.
class TypingPlan {
 public:
  // The claims that an object of a row, or a variable, makes about other objects.
  struct Part {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t element_first = 0;
    std::uint32_t element_count = 0;
    std::uint64_t elements_at = 0;
    std::uint64_t element_bytes = 0;

    [[nodiscard]] bool has_claims() const { return count != 0 || element_count != 0; }
  };

  explicit TypingPlan(const TypeRows& rows);

  // Adds the claims of a variable with this layout.
  [[nodiscard]] Part add(const RowLayout& layout);

  [[nodiscard]] const Part& of_row(TypeIndex row) const { return rows_[row]; }
  [[nodiscard]] const Claim& claim(std::uint32_t number) const { return claims_[number]; }

 private:
  std::vector<Part> rows_;
  std::vector<Claim> claims_;
};

}  // namespace heapattach::snapshot
