#pragma once

#include <cstdint>
#include <string_view>

namespace heapattach::snapshot {

// A key split into parts: "[3].key" is "[", 3, "].key"; "+24" is "+" and 3 words.
struct SplitKey {
  std::string_view before;
  std::string_view after;
  std::uint32_t unit = 0;  // 0: there is no number, and nothing after `before`
  std::uint32_t number = 0;
};
[[nodiscard]] SplitKey split_key(std::string_view text);

// Reads digits at `at` in the form that we write: without leading zeros, and below 2^32. Returns
// the position after them; null if there are none.
[[nodiscard]] const char* read_number(const char* at, const char* end, std::uint32_t& out);

}  // namespace heapattach::snapshot
