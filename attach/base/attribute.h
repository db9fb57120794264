#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heapattach {

// A fact that a process publishes about itself, such as its service.name. Name and value may be any
// bytes.
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
