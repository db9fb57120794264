#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "attach/base/attribute.h"
#include "report/format/export/stream.h"
#include "report/text/json_text.h"
#include "report/text/terminal_text.h"

namespace heapattach {

// Writes JSON inside a <script> element. No text can end the script or the string: `<`, `>` and `&`
// are escaped, in addition to what JSON requires.
class HtmlJson {
 public:
  explicit HtmlJson(ExportStream& out) : out_(out) {}

  void open(char bracket) {
    separate();
    out_.put(bracket);
    is_first_ = true;
  }
  void close(char bracket) {
    out_.put(bracket);
    is_first_ = false;
  }
  // Keys are our own, and need no escaping.
  void key(std::string_view name) {
    separate();
    out_.put('"');
    out_.put(name);
    out_.put("\":");
    is_first_ = true;
  }

  // Text that is already safe to show.
  void safe_text(std::string_view text) {
    separate();
    scratch_.clear();
    append_json_string(scratch_, text);
    for (const char letter : scratch_) put_letter(letter);
  }
  // Any text, made safe to show.
  void text(std::string_view text) { safe_text(terminal_text(text)); }
  template <std::integral Number>
  void number(Number value) {
    raw(fmt::format_int(value).c_str());
  }
  void raw(std::string_view json) {
    separate();
    out_.put(json);
  }

  // Members of an object.
  void open(std::string_view name, char bracket) {
    key(name);
    open(bracket);
  }
  void text(std::string_view name, std::string_view value) {
    key(name);
    text(value);
  }
  template <std::integral Number>
  void number(std::string_view name, Number value) {
    key(name);
    number(value);
  }
  // A list of pairs, since the names are not our own.
  void attributes_unless_empty(std::string_view name, const Attributes& attributes) {
    if (attributes.empty()) return;
    open(name, '[');
    for (const Attribute& one : attributes) {
      open('[');
      text(one.name);
      text(one.value);
      close(']');
    }
    close(']');
  }
  void boolean(std::string_view name, bool value) {
    key(name);
    raw(value ? "true" : "false");
  }

  template <std::integral... Number>
  void numbers(Number... values) {
    open('[');
    (number(values), ...);
    close(']');
  }

 private:
  void separate() {
    if (!is_first_) out_.put(',');
    is_first_ = false;
  }
  void put_letter(char letter) {
    switch (letter) {
      case '<': out_.put("\\u003c"); break;
      case '>': out_.put("\\u003e"); break;
      case '&': out_.put("\\u0026"); break;
      default: out_.put(letter);
    }
  }

  ExportStream& out_;
  std::string scratch_;
  bool is_first_ = true;  // the next value needs no comma before it
};

}  // namespace heapattach
