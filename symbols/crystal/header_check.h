#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "symbols/crystal/type_table.h"
#include "symbols/heap/blocks.h"

namespace heapattach::crystal {

// Finds the class of an object by its first bytes. Any object may start with a small number, so an
// id alone is never trusted: everything known about the class must be true of the object too. A
// match may still be a buffer of numbers; those are recognised by what points to them
// (buffer_pointers).
//
// Copies what it needs from the table, for speed. The pointers that it returns point into the
// table, which must outlive it and not change.
class HeaderCheck {
 public:
  // `has_numbers`: whether the contents include numbers, not only pointers as in some dumps.
  explicit HeaderCheck(const TypeTable& types, bool has_numbers = true);

  // Null if the object is not an instance of a type in the table. `contents` starts with the
  // object's first byte and may be shorter than the object.
  [[nodiscard]] const Type* type_of(const heap::Block& block,
                                    std::span<const std::byte> contents) const;

 private:
  struct Entry {
    const Type* type = nullptr;
    std::uint64_t bytes = 0;       // of an instance; 0: unknown
    std::vector<Range> gaps = {};  // bytes of an instance that belong to no field, and are zero
    bool is_atomic_known = false;
    bool is_atomic = false;
    bool is_string = false;
    bool is_array = false;
  };

  [[nodiscard]] static bool fits(const Entry& entry,
                                 const heap::Block& block,
                                 std::span<const std::byte> contents);

  std::vector<Entry> by_id_;
};

// A field that points to memory without a header.
struct BufferPointer {
  std::uint32_t offset = 0;
  // The word may point past the buffer's start, because the array was shifted. For other fields,
  // only an object's exact address marks it as a buffer, because the bytes may belong to a String.
  bool may_be_inside = false;
  bool only_if_array = false;  // the type has no name, so each object must look like an Array
};

// Whether an object of 24 bytes contains plausible numbers for an Array whose buffer has
// `buffer_bytes`.
[[nodiscard]] bool looks_like_array(std::span<const std::byte> contents,
                                    std::uint64_t buffer_bytes);

// The fields of `type` that point to buffers. The objects that they point to are not instances,
// whatever their first bytes look like, unless they are Strings. From the type's fields if known;
// otherwise, for the containers of the standard library, from their layout, which has been the same
// from Crystal 1.0 to 1.22.
std::vector<BufferPointer> buffer_pointers(const Type& type);

}  // namespace heapattach::crystal
