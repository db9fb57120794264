#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "symbols/ruby/machine.h"

namespace heapattach::ruby {

// The shapes of objects, since 3.2. An object's flags contain the number of its shape, which says
// for how many variables the object's buffer has room.
class Shapes {
 public:
  // Whether Ruby's tree of shapes is at `tree`, judged by its first shapes.
  static bool are_at(const Layout& layout, const Values& values, std::uint64_t tree);

  // Reads all shapes; none if the release has none, or they cannot be read.
  static Shapes read(const Machine& machine, const MemoryReader& memory);

  // The capacity of an object's buffer; nothing if its shape is unknown or its variables are in a
  // table.
  [[nodiscard]] std::optional<std::uint64_t> room_of(const Slot& object) const;

 private:
  const Layout* layout_ = nullptr;  // null: there are no shapes
  std::vector<std::byte> bytes_;
};

}  // namespace heapattach::ruby
