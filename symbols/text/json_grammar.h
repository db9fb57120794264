#pragma once

#include <string>
#include <string_view>

// JSON's grammar (RFC 8259) for texts and numbers, as functions of the characters alone.
namespace heapattach {

// The first of `"`, `\` and control characters from `at` on; `end` if there is none.
[[nodiscard]] const char* end_of_plain_text(const char* at, const char* end);

// Decodes the text between quotes into `out`; a lone surrogate becomes U+FFFD. Returns what is
// wrong with it, empty if nothing.
[[nodiscard]] std::string_view decode_escapes(std::string_view raw, std::string& out);

// The end of a number that begins at `at`; null if there is none.
[[nodiscard]] const char* end_of_number(const char* at, const char* end);

}  // namespace heapattach
