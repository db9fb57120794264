#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

// What a user means by the name of a type, or of a root.
namespace heapattach {

struct NamedType {
  // The name as the program has it, or the glob as it was given; empty if it names no type.
  std::string name;
  std::string problem;  // why it is empty, with names that are like it
};

// `wanted` is, in this order, the whole name of a type, a glob that matches some, or a name without
// its namespaces ("RequestLog" for "Blog::RequestLog", "leaf" for "struct leaf") that only one type
// has.
[[nodiscard]] NamedType find_type_name(std::string_view wanted,
                                       std::span<const std::string_view> known);
// The same for names of variables.
[[nodiscard]] NamedType find_root_name(std::string_view wanted,
                                       std::span<const std::string_view> known);

// Names of types, each once.
class TypeNames {
 public:
  void add(const std::string& name) { names_.insert(name); }
  [[nodiscard]] NamedType find(std::string_view wanted) const;

 private:
  std::unordered_set<std::string> names_;
};

}  // namespace heapattach
