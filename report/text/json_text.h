#pragma once

#include <string>
#include <string_view>

namespace heapattach {

// Appends `text`, which may be anything, as a JSON string with its quotes: pure ASCII where a
// character could steer a terminal or reorder text, U+FFFD for what is not UTF-8, and no more than
// kMaxNameBytes of it. True if that lost something, so that the record can say "lossy".
bool append_json_string(std::string& out, std::string_view text);

}  // namespace heapattach
