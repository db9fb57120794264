#pragma once

#include <string_view>

namespace heapattach {

// The page in html/, embedded in the program: the part before a report's data, and the part after
// it.
[[nodiscard]] std::string_view html_before_data();
[[nodiscard]] std::string_view html_behind_data();

}  // namespace heapattach
