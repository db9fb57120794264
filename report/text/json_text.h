#pragma once

#include <string>
#include <string_view>

namespace heapattach {

// Appends any `text` as a JSON string with its quotes: escapes characters that could control a
// terminal or reorder text, writes U+FFFD for what is not UTF-8, and cuts it at kMaxNameBytes. True
// if that lost something, so that the record can say "lossy".
bool append_json_string(std::string& out, std::string_view text);

}  // namespace heapattach
