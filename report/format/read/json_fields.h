#pragma once

// Reads the values that records have in common, out of a JSON line.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "attach/base/attribute.h"
#include "report/model/frame_words.h"
#include "symbols/text/json_cursor.h"

namespace heapattach::read {

template <class Number>
bool read_number(JsonCursor& json, Number& out) {
  std::uint64_t value = 0;
  if (!json.number(value)) return false;
  if (value > static_cast<std::uint64_t>(std::numeric_limits<Number>::max())) {
    return json.fail("a number too large");
  }
  out = static_cast<Number>(value);
  return true;
}

template <class Number>
bool read_number(JsonCursor& json, std::optional<Number>& out) {
  return read_number(json, out.emplace());
}

inline bool read_boolean(JsonCursor& json, std::optional<bool>& out) {
  return json.boolean(out.emplace());
}

inline bool read_address(JsonCursor& json, std::optional<std::uint64_t>& out) {
  return json.address(out.emplace());
}

// An object whose values are texts; others are left out.
inline bool read_attributes(JsonCursor& json, Attributes& out) {
  return json.object([&](std::string_view name) {
    if (!json.is_string()) return json.skip();
    return json.string(out.emplace_back(Attribute{std::string(name), {}}).value);
  });
}

// One of a table's words. A word that this build does not know leaves `out` unchanged.
template <class Words, class Value>
bool read_word(JsonCursor& json, const Words& words, Value& out) {
  std::string text;
  if (!json.string(text)) return false;
  if (const auto known = snapshot::meant_by(words, text)) out = *known;
  return true;
}

}  // namespace heapattach::read
