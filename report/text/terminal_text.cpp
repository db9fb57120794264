#include "report/text/terminal_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "symbols/text/utf8.h"

namespace heapattach {

namespace {

void append_bytes(std::string& out, std::string_view bytes) {
  for (const char byte : bytes) {
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<std::uint8_t>(byte));
  }
}

void append_unsafe(std::string& out, char32_t code) {
  if (code == '\n') {
    out += "\\n";
  } else if (code == '\t') {
    out += "\\t";
  } else if (code < 0x80) {
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned>(code));
  } else {
    fmt::format_to(std::back_inserter(out), "\\u{{{:x}}}", static_cast<unsigned>(code));
  }
}

// Unicode's wide and full-width characters in a few lines, and those that take no column.
std::size_t columns_of(char32_t code) {
  using Span = std::pair<char32_t, char32_t>;
  constexpr std::array<Span, 4> kNone{
      {{0x300, 0x36f}, {0x200b, 0x200d}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}}};
  constexpr std::array<Span, 8> kWide{{{0x1100, 0x115f},
                                       {0x2e80, 0xa4cf},
                                       {0xac00, 0xd7a3},
                                       {0xf900, 0xfaff},
                                       {0xfe30, 0xfe6f},
                                       {0xff00, 0xff60},
                                       {0x1f300, 0x1faff},
                                       {0x20000, 0x3fffd}}};
  const auto holds = [code](const Span& span) { return span.first <= code && code <= span.second; };
  if (std::any_of(kNone.begin(), kNone.end(), holds)) return 0;
  return std::any_of(kWide.begin(), kWide.end(), holds) ? 2 : 1;
}

}  // namespace

std::string terminal_text(std::string_view text) {
  std::string out;
  const bool is_cut = text.size() > kMaxNameBytes;
  text = cut_utf8(text, kMaxNameBytes);
  while (!text.empty()) {
    const Utf8Step step = next_utf8(text);
    if (!step.is_valid) {
      append_bytes(out, text.substr(0, step.bytes));
    } else if (step.code == '\\') {
      out += "\\\\";
    } else if (is_unsafe_to_show(step.code)) {
      append_unsafe(out, step.code);
    } else {
      out += text.substr(0, step.bytes);
    }
    text.remove_prefix(step.bytes);
  }
  if (is_cut) out += "…";
  return out;
}

std::string ascii_text(std::string_view text) {
  using Spelling = std::pair<char32_t, std::string_view>;
  constexpr std::array<Spelling, 4> kSpellings{
      {{U'→', "->"}, {U'…', "..."}, {U'–', "-"}, {U'×', "x"}}};
  std::string out;
  while (!text.empty()) {
    const Utf8Step step = next_utf8(text);
    const auto* const known =
        std::find_if(kSpellings.begin(), kSpellings.end(),
                     [&](const Spelling& spelling) { return spelling.first == step.code; });
    if (!step.is_valid) {
      append_bytes(out, text.substr(0, step.bytes));
    } else if (step.code < 0x80) {
      out += text.substr(0, step.bytes);
    } else if (known != kSpellings.end()) {
      out += known->second;
    } else {
      append_unsafe(out, step.code);
    }
    text.remove_prefix(step.bytes);
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t columns) {
  std::size_t used = 0;
  std::size_t with_ellipsis = 0;  // bytes that leave a column for it
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = next_utf8(text.substr(at));
    used += step.is_valid ? columns_of(step.code) : 1;
    if (used > columns) return std::string(text.substr(0, with_ellipsis)) + "…";
    at += step.bytes;
    if (used + 1 <= columns) with_ellipsis = at;
  }
  return std::string(text);
}

}  // namespace heapattach
