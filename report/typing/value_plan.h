#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/typing/type_rows.h"

namespace heapattach::snapshot {

// The parts of a row's objects that are values.
struct ValuePlan {
  enum class Whole : std::uint8_t {
    Nothing,
    CrystalString,  // a size, a length, and then the text
    Text,           // up to the first NUL
    NimString,      // a length, a capacity, and then the text
    Utf16,          // a length in units, and the text in UTF-16
  };
  // A number, or an embedded std::string.
  struct Field {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    types::TypeRef type = types::kNoType;  // kNoType: a std::string, or a number with a kind
    std::uint8_t bit_count = 0;
    std::uint8_t bit_offset = 0;
    std::string path;
    std::optional<runtimes::Shape::Number::Kind> kind{};  // of a number of a runtime's object
    std::vector<runtimes::Shape::Named> names{};          // of its values
  };
  Whole whole = Whole::Nothing;
  std::uint64_t length_at = 0;  // of a text in UTF-16, and
  std::uint64_t text_at = 0;    // where it begins
  std::vector<Field> fields;
  std::vector<Type::Field> unread;  // with the paths of values that are not read
  bool is_one_number = false;       // the first field is the whole value
};

[[nodiscard]] ValuePlan plan_values(const TypeRows& rows, TypeIndex row);

// A number as JSON text, or the name of an enumerator, symbol or character.
struct Scalar {
  std::string text;
  bool is_text = false;
};

// The same for a number of a runtime's object.
[[nodiscard]] std::optional<Scalar> read_number(std::span<const std::byte> bytes,
                                                const ValuePlan::Field& field);

// Reads a number of this type from its bytes; nothing if no number has that size.
[[nodiscard]] std::optional<Scalar> read_scalar(const types::Type& type,
                                                std::span<const std::byte> bytes,
                                                const ValuePlan::Field& field);

}  // namespace heapattach::snapshot
