#pragma once

#include <string_view>

namespace heapattach {

// The page of export/html/ as one piece of text, made when this is built: what stands before the
// data of a report, and what stands behind it.
[[nodiscard]] std::string_view html_before_data();
[[nodiscard]] std::string_view html_behind_data();

}  // namespace heapattach
