#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace heapattach {

// The row of a table for a processor (e_machine), which each row has as its `machine`. Null if the
// table does not know the processor: what is true of another one would be a guess.
template <class Row, std::size_t kRows>
[[nodiscard]] constexpr const Row* row_for(const std::array<Row, kRows>& rows,
                                           std::uint16_t machine) {
  for (const Row& row : rows) {
    if (row.machine == machine) return &row;
  }
  return nullptr;
}

}  // namespace heapattach
