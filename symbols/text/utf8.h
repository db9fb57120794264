#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heapattach {

// The first character of a text, or the longest invalid prefix that could have started one.
struct Utf8Step {
  char32_t code = 0;  // meaningless unless valid
  std::size_t bytes = 1;
  bool is_valid = false;
};

// `text` must not be empty. Overlong forms, surrogates and codes past U+10FFFF are not valid.
[[nodiscard]] Utf8Step next_utf8(std::string_view text);

// `code` is at most 0x1fffff; codes that are not characters are written in the same form.
void append_utf8(std::string& out, std::uint32_t code);

// Whether a character could control a terminal or reorder text: C0, DEL, C1, line and paragraph
// separators, bidirectional controls, interlinear and tag characters.
[[nodiscard]] bool is_unsafe_to_show(char32_t code);

// The longest prefix of `text` of at most `limit_bytes` that does not cut a character in two.
[[nodiscard]] std::string_view cut_utf8(std::string_view text, std::size_t limit_bytes);

// Names longer than this are cut, because a mangled name can have any length.
inline constexpr std::size_t kMaxNameBytes = 4096;

}  // namespace heapattach
