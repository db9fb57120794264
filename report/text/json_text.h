#pragma once

#include <string>
#include <string_view>

namespace heapattach {

// Appends any `text` as a JSON string with quotes. Escapes characters that could control a terminal
// or reorder text, replaces invalid UTF-8 by U+FFFD, and cuts the text at kMaxNameBytes. Returns
// true if something was lost, so that the record can be marked "lossy".
bool append_json_string(std::string& out, std::string_view text);

}  // namespace heapattach
