#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "symbols/ruby/machine.h"

namespace heapattach::ruby {

// The shapes of objects, which releases since 3.2 have. An object's flags have the number of its
// shape, and the shape says for how many variables the object's buffer has room.
class Shapes {
 public:
  // Whether Ruby's tree of shapes is at `tree`, by what must be true of its first ones.
  static bool are_at(const Layout& layout, const Values& values, std::uint64_t tree);

  // All of them; none if the release has none, or they cannot be read.
  static Shapes read(const Machine& machine, const MemoryReader& memory);

  // Of an object with a buffer; none: its shape is not known, or its variables are in a table.
  [[nodiscard]] std::optional<std::uint64_t> room_of(const Slot& object) const;

 private:
  const Layout* layout_ = nullptr;  // null: there are no shapes
  std::vector<std::byte> bytes_;
};

}  // namespace heapattach::ruby
