#include "symbols/text/utf8.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace heapattach {

namespace {

// One row of table 3-7 of the Unicode standard: for a first byte, how many bytes follow and what
// the first of them may be. The others are always 80 to BF.
struct Lead {
  std::uint8_t first, last;
  std::uint8_t following;
  std::uint8_t second_min, second_max;
};
constexpr std::array<Lead, 8> kLeads{{{0xc2, 0xdf, 1, 0x80, 0xbf},
                                      {0xe0, 0xe0, 2, 0xa0, 0xbf},
                                      {0xe1, 0xec, 2, 0x80, 0xbf},
                                      {0xed, 0xed, 2, 0x80, 0x9f},
                                      {0xee, 0xef, 2, 0x80, 0xbf},
                                      {0xf0, 0xf0, 3, 0x90, 0xbf},
                                      {0xf1, 0xf3, 3, 0x80, 0xbf},
                                      {0xf4, 0xf4, 3, 0x80, 0x8f}}};

struct CodeRange {
  char32_t first, last;
};
constexpr std::array<CodeRange, 9> kUnsafe{{{0x00, 0x1f},
                                            {0x7f, 0x9f},
                                            {0x61c, 0x61c},
                                            {0x200e, 0x200f},
                                            {0x2028, 0x202e},
                                            {0x2066, 0x2069},
                                            {0xfeff, 0xfeff},
                                            {0xfff9, 0xfffb},
                                            {0xe0000, 0xe007f}}};

std::uint8_t byte_at(std::string_view text, std::size_t at) {
  return static_cast<std::uint8_t>(text[at]);
}

}  // namespace

Utf8Step next_utf8(std::string_view text) {
  const std::uint8_t first = byte_at(text, 0);
  if (first < 0x80) return {first, 1, true};
  const auto* const lead = std::find_if(kLeads.begin(), kLeads.end(), [&](const Lead& row) {
    return first >= row.first && first <= row.last;
  });
  if (lead == kLeads.end()) return {0, 1, false};
  char32_t code = first & (0x3fU >> lead->following);
  for (std::size_t i = 1; i <= lead->following; ++i) {
    if (i >= text.size()) return {0, i, false};
    const std::uint8_t next = byte_at(text, i);
    const bool fits = i == 1 ? next >= lead->second_min && next <= lead->second_max
                             : next >= 0x80 && next <= 0xbf;
    if (!fits) return {0, i, false};
    code = (code << 6) | (next & 0x3fU);
  }
  return {code, std::size_t{lead->following} + 1, true};
}

bool is_unsafe_to_show(char32_t code) {
  return std::any_of(kUnsafe.begin(), kUnsafe.end(), [code](const CodeRange& range) {
    return code >= range.first && code <= range.last;
  });
}

std::string_view cut_utf8(std::string_view text, std::size_t limit_bytes) {
  if (text.size() <= limit_bytes) return text;
  std::size_t end = limit_bytes;
  while (end > 0 && limit_bytes - end < 3 && (byte_at(text, end) & 0xc0U) == 0x80) --end;
  return text.substr(0, end);
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | (code >> 6));
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3f));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

}  // namespace heapattach
