#pragma once

#include <cstdint>
#include <string_view>

namespace heapattach::snapshot {

// A key taken apart: "[3].key" is "[", 3, "].key"; "+24" is 3 words after "+".
struct SplitKey {
  std::string_view before;
  std::string_view after;
  std::uint32_t unit = 0;  // 0: no number, and nothing after
  std::uint32_t number = 0;
};
[[nodiscard]] SplitKey split_key(std::string_view text);

// Digits as we write them at `at`: no zero before others, and below 2^32. Returns what follows
// them; null if there are none.
[[nodiscard]] const char* read_number(const char* at, const char* end, std::uint32_t& out);

}  // namespace heapattach::snapshot
