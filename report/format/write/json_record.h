#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "attach/base/attribute.h"

namespace heapattach {

// Appends an object whose keys are the names. Returns whether a text was changed.
bool append_attributes(std::string& out, const Attributes& attributes);

// Builds one line of JSON, with keys in the order in which they are added. If any text in it was
// changed or cut, the record ends with "lossy":true. Keys are our own and need no escaping.
class JsonRecord {
 public:
  JsonRecord() = default;
  explicit JsonRecord(std::string_view kind) { text("record", kind); }

  void text(std::string_view name, std::string_view value);
  void text_unless_empty(std::string_view name, std::string_view value);
  template <std::integral Number>
  void number(std::string_view name, Number value) {
    raw(name, std::to_string(value));
  }
  template <std::integral Number>
  void number(std::string_view name, const std::optional<Number>& value) {
    if (value) number(name, *value);
  }
  void boolean(std::string_view name, std::optional<bool> value);
  void address(std::string_view name, std::uint64_t value);
  void object(std::string_view name, JsonRecord value);
  void attributes_unless_empty(std::string_view name, const Attributes& attributes);
  // Adds `json` unchanged.
  void raw(std::string_view name, std::string_view json);

  // Marks the record "lossy" even if no text is changed now.
  void lossy_if(bool was_lossy) { is_lossy_ |= was_lossy; }

  void open_list(std::string_view name);
  void item(std::string_view text);
  void item(JsonRecord record);
  void close_list();
  // A list of texts or records.
  template <class Items>
  void list(std::string_view name, const Items& items) {
    open_list(name);
    for (const auto& one : items) item(one);
    close_list();
  }
  template <class Items>
  void list_unless_empty(std::string_view name, const Items& items) {
    if (!items.empty()) list(name, items);
  }

  // The record with its braces and line break.
  [[nodiscard]] std::string line() &&;

 private:
  void key(std::string_view name);
  void comma();
  [[nodiscard]] std::string braced() &&;

  std::string members_;
  bool is_lossy_ = false;
};

}  // namespace heapattach
