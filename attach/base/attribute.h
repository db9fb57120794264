#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heapattach {

// What a process says of itself, such as service.name and its value. Both are any bytes.
struct Attribute {
  std::string name;
  std::string value;

  bool operator==(const Attribute&) const = default;
};
using Attributes = std::vector<Attribute>;

// The value of an attribute; empty if there is none.
[[nodiscard]] inline std::string_view value_of(const Attributes& attributes,
                                               std::string_view name) {
  for (const Attribute& one : attributes) {
    if (one.name == name) return one.value;
  }
  return {};
}

}  // namespace heapattach
