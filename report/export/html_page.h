#pragma once

#include <string_view>

namespace heapattach {

// The page of export/html/ as one piece of text, made when this is built: what stands before the
// data of a report, and what stands behind it.
extern const std::string_view kHtmlBeforeData;
extern const std::string_view kHtmlBehindData;

}  // namespace heapattach
