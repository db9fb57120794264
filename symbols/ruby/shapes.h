#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "symbols/ruby/machine.h"

namespace heapattach::ruby {

// The shapes of objects, since 3.2. An object's flags contain the number of its shape, which says
// what its variables are called, and for how many the object's buffer has room.
class Shapes {
 public:
  // Whether an array of shapes of this form is at `at`: the shapes near its beginning derive from
  // earlier ones, and the variables that they add have names that begin with "@" or "__".
  static bool are_at(const ShapeForm& form,
                     const Values& values,
                     const NameReader& names,
                     std::uint64_t at);

  // Reads all shapes; none if the release has none, or they cannot be read.
  static Shapes read(const Machine& machine, const MemoryReader& memory);

  // The capacity of an object's buffer; nothing if its shape is unknown or its variables are in a
  // table.
  [[nodiscard]] std::optional<std::uint64_t> room_of(const Slot& object) const;
  // The names of an object's variables, by index; 0 for an index that is not a variable of the
  // program. Nothing if its shape is unknown or its variables are in a table.
  [[nodiscard]] const std::vector<Id>* fields_of(const Slot& object);
  // Whether its variables are in a table.
  [[nodiscard]] bool is_complex(const Slot& object) const;

 private:
  [[nodiscard]] std::optional<std::uint32_t> number_of(const Slot& object) const;
  [[nodiscard]] std::uint64_t member(std::uint32_t shape,
                                     std::uint64_t at,
                                     std::size_t bytes) const;
  [[nodiscard]] std::vector<std::uint32_t> line_of(std::uint32_t shape) const;

  ShapeForm form_{};  // of 0 bytes: there are no shapes
  std::vector<std::byte> bytes_;
  std::unordered_map<std::uint32_t, std::vector<Id>> fields_;
  std::size_t names_ = 0;  // in `fields_`
};

}  // namespace heapattach::ruby
