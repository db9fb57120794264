#pragma once

#include <string_view>

namespace heapattach {

// The page of html/ as text in the program: the part before the data of a report, and the part
// after it.
[[nodiscard]] std::string_view html_before_data();
[[nodiscard]] std::string_view html_behind_data();

}  // namespace heapattach
