#pragma once

#include <string>
#include <string_view>

// The JSON grammar (RFC 8259) of strings and numbers, as pure functions.
namespace heapattach {

// The first of `"`, `\` and control characters from `at` on; `end` if there is none.
[[nodiscard]] const char* end_of_plain_text(const char* at, const char* end);

// Decodes the text between quotes into `out`; a lone surrogate becomes U+FFFD. Returns a
// description of the error, empty if there is none.
[[nodiscard]] std::string_view decode_escapes(std::string_view raw, std::string& out);

// The end of a number that starts at `at`; null if there is none.
[[nodiscard]] const char* end_of_number(const char* at, const char* end);

}  // namespace heapattach
