#include "symbols/types/crystal_plain_types.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace heapattach::types {
namespace {

struct NumberType {
  std::string_view name;
  std::uint64_t bytes;
  Encoding encoding;
};
constexpr std::array<NumberType, 15> kNumbers = {{
    {"Int8", 1, Encoding::Signed},
    {"UInt8", 1, Encoding::Unsigned},
    {"Int16", 2, Encoding::Signed},
    {"UInt16", 2, Encoding::Unsigned},
    {"Int32", 4, Encoding::Signed},
    {"UInt32", 4, Encoding::Unsigned},
    {"Int64", 8, Encoding::Signed},
    {"UInt64", 8, Encoding::Unsigned},
    {"Int128", 16, Encoding::Signed},
    {"UInt128", 16, Encoding::Unsigned},
    {"Float32", 4, Encoding::Float},
    {"Float64", 8, Encoding::Float},
    {"Bool", 1, Encoding::Boolean},
    {"Char", 4, Encoding::Character},
    {"Symbol", 4, Encoding::Symbol},
}};

}  // namespace

bool describe_plain(Type& type, std::string_view name) {
  if (name == "Nil" || name == "NoReturn") {
    type.bytes = 0;
    return true;
  }
  if (name.ends_with(".class") || name.ends_with(":Module")) {  // a type id
    type.shape = Shape::Number;
    type.encoding = Encoding::Unsigned;
    type.bytes = 4;
    return true;
  }
  const auto number = std::find_if(kNumbers.begin(), kNumbers.end(),
                                   [&](const NumberType& n) { return n.name == name; });
  if (number == kNumbers.end()) return false;
  type.shape = Shape::Number;
  type.encoding = number->encoding;
  type.bytes = number->bytes;
  return true;
}

}  // namespace heapattach::types
