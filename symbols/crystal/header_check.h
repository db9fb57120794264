#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "symbols/boehm/blocks.h"
#include "symbols/crystal/type_table.h"

namespace heapattach::crystal {

// Finds by an object's first bytes which class it is an instance of. Anything may begin with a
// small number, so an id alone is never trusted: everything known about its class must hold for the
// object too. A match may still be a buffer of numbers: those are recognised by what points to them
// (buffer_pointers).
//
// Copies what it needs from the table, for speed; the pointers it returns are into the table, which
// must outlive it and not change.
class HeaderCheck {
 public:
  // `has_numbers`: whether the contents include numbers, not only pointers as in some dumps.
  explicit HeaderCheck(const TypeTable& types, bool has_numbers = true);

  // Null if the object is not an instance of a type in the table. `contents` begins with the
  // object's first byte and may be shorter than it.
  [[nodiscard]] const Type* type_of(const boehm::Block& block,
                                    std::span<const std::byte> contents) const;

 private:
  struct Entry {
    const Type* type = nullptr;
    std::uint64_t bytes = 0;       // of an instance; 0: not known
    std::vector<Range> gaps = {};  // bytes of an instance that belong to no field: zero
    bool is_atomic_known = false;
    bool is_atomic = false;
    bool is_string = false;
    bool is_array = false;
  };

  [[nodiscard]] static bool fits(const Entry& entry,
                                 const boehm::Block& block,
                                 std::span<const std::byte> contents);

  std::vector<Entry> by_id_;
};

// A field that points to memory without a header.
struct BufferPointer {
  std::uint32_t offset = 0;
  // The word may point past the buffer's start: an array that was shifted. For other fields only a
  // word that is an object's exact address marks it as a buffer, because bytes may be those of a
  // String.
  bool may_be_inside = false;
  bool only_if_array = false;  // the type has no name: each object must look like an Array
};

// Whether an object of 24 bytes has the numbers of an Array whose buffer takes `buffer_bytes`.
[[nodiscard]] bool looks_like_array(std::span<const std::byte> contents,
                                    std::uint64_t buffer_bytes);

// Where instances of `type` hold pointers to buffers: the objects they point to are not instances,
// whatever their first bytes look like, unless they are Strings. From the type's fields if known;
// otherwise, for the containers of the standard library, from their layout, which has been the same
// from Crystal 1.0 to 1.22.
std::vector<BufferPointer> buffer_pointers(const Type& type);

}  // namespace heapattach::crystal
