#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/format/read/ruby/pieces.h"

namespace heapattach::ruby {

// The classes and shapes of a dump, which may come after objects that use them. Borrows the pieces.
class Names {
 public:
  explicit Names(const RubyPieces& pieces);

  // The name of an object's type, and whether it is known. If the class has no record, the name is
  // a placeholder.
  struct TypeName {
    std::string text;
    bool is_known = true;
  };
  [[nodiscard]] TypeName of(const Identity& identity, const Tables& tables) const;

  // The instance variables of a shape, in the order of their references; empty if unknown.
  [[nodiscard]] std::vector<std::string> variables_of(std::uint64_t shape) const;

 private:
  // None if the class has no record.
  [[nodiscard]] std::optional<std::string> class_name(std::uint64_t address) const;

  bool marks_internal_;  // false for early heap_dump versions, which omit the class of every object
  std::unordered_map<std::uint64_t, const ClassRecord*> classes_;  // by address
  std::unordered_map<std::uint64_t, const ShapeRecord*> shapes_;   // by id
};

}  // namespace heapattach::ruby
