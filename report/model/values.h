#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heapattach::snapshot {

// A value that a user might look for in an object: its text, or the number in a field.
struct Value {
  static constexpr std::uint32_t kOwn = std::numeric_limits<std::uint32_t>::max();

  std::uint64_t at = 0;     // the offset of the value's text in the piece
  std::uint32_t bytes = 0;  // the length of that text
  std::uint32_t path =
      kOwn;             // an index into Type::value_paths; kOwn: the object is only this value
  bool is_text = true;  // false: a JSON number, true or false
  bool is_cut = false;  // the rest of the text was cut off
};

// The values of consecutive objects.
struct ValuePiece {
  std::uint32_t first_object = 0;
  std::vector<std::uint32_t> first_value;  // by object, plus one after the last
  std::vector<Value> values;
  std::string text;  // bytes from the target, not checked

  [[nodiscard]] std::string_view text_of(const Value& value) const {
    return std::string_view(text).substr(value.at, value.bytes);
  }
  [[nodiscard]] std::span<const Value> of(std::uint32_t object) const {
    const std::uint32_t at = object - first_object;  // wraps to a large number for earlier objects
    if (at + std::uint64_t{1} >= first_value.size()) return {};
    return std::span(values).subspan(first_value[at], first_value[at + 1] - first_value[at]);
  }
};

}  // namespace heapattach::snapshot
