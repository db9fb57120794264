#include "report/text/json_text.h"

#include <iterator>

#include <fmt/format.h>

#include "symbols/text/utf8.h"

namespace heapattach {

namespace {

void append_escape(std::string& out, char32_t code) {
  if (code < 0x10000) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(code));
    return;
  }
  const auto above = static_cast<unsigned>(code - 0x10000);
  fmt::format_to(std::back_inserter(out), "\\u{:04x}\\u{:04x}", 0xd800 + (above >> 10),
                 0xdc00 + (above & 0x3ffU));
}

void append_character(std::string& out, char32_t code, std::string_view bytes) {
  switch (code) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  if (is_unsafe_to_show(code)) {
    append_escape(out, code);
  } else {
    out += bytes;
  }
}

}  // namespace

bool append_json_string(std::string& out, std::string_view text) {
  bool is_lossy = text.size() > kMaxNameBytes;
  text = cut_utf8(text, kMaxNameBytes);
  out += '"';
  while (!text.empty()) {
    const Utf8Step step = next_utf8(text);
    if (step.is_valid) {
      append_character(out, step.code, text.substr(0, step.bytes));
    } else {
      out += "\xef\xbf\xbd";
      is_lossy = true;
    }
    text.remove_prefix(step.bytes);
  }
  out += '"';
  return is_lossy;
}

}  // namespace heapattach
