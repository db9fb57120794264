#include "report/write/terminal_text.h"

#include <cstdint>
#include <iterator>

#include <fmt/format.h>

#include "report/write/utf8.h"

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

}  // namespace heapattach
