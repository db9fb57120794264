#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "report/model/model.h"
#include "symbols/crystal/header_check.h"
#include "symbols/crystal/type_table.h"
#include "symbols/cxx/vtables.h"
#include "symbols/heap/blocks.h"

namespace heapattach::snapshot {

// Assigns a row to each object: the class that its header or first vtable pointer proves, or else a
// placeholder. Borrows both sources, which must not change. Several threads may use it.
class Naming {
 public:
  // `code` contains the program's functions.
  Naming(const crystal::TypeTable& classes,
         const cxx::VtableNames& vtables,
         std::vector<Range> code = {});

  // All possible rows. A TypeIndex is an index into this.
  [[nodiscard]] const std::vector<Type>& types() const { return types_; }

  // The row of an object. `contents` may be shorter than the object.
  [[nodiscard]] TypeIndex type_of(const heap::Block& block,
                                  std::span<const std::byte> contents) const;
  // The row of an object when only its kind is known.
  [[nodiscard]] static TypeIndex unknown_of(const heap::Block& block);
  [[nodiscard]] static bool is_unknown(TypeIndex row);
  // Whether no class is known by its header, so that there is no need to examine headers.
  [[nodiscard]] bool knows_no_headers() const { return knows_no_headers_; }

  // The words of the type's instances that point to buffers. Such a buffer is a String or no
  // instance at all, whatever its first word looks like.
  [[nodiscard]] std::span<const crystal::BufferPointer> buffer_pointers(TypeIndex type) const;
  // Whether there is a row of this name whose instances contain their type.
  [[nodiscard]] bool has_class(const std::string& name) const { return names_.contains(name); }
  [[nodiscard]] bool is_string(TypeIndex type) const { return type == string_; }
  // Whether a word is the address of code in the program.
  [[nodiscard]] bool is_code(std::uint64_t word) const {
    return std::any_of(code_.begin(), code_.end(),
                       [&](const Range& range) { return range.contains(RemoteAddr{word}); });
  }
  [[nodiscard]] bool knows_code() const { return !code_.empty(); }

 private:
  const crystal::TypeTable& classes_;
  const cxx::VtableNames& vtables_;
  std::vector<Range> code_;
  crystal::HeaderCheck headers_;
  std::vector<Type> types_;
  TypeIndex first_class_ = 0;  // the first class of the type table; the others follow in its order
  TypeIndex first_vtable_ = 0;
  TypeIndex string_ = ~TypeIndex{0};
  std::vector<std::vector<crystal::BufferPointer>> buffer_pointers_;  // by class
  bool knows_no_headers_ = false;
  std::unordered_set<std::string> names_;
};

}  // namespace heapattach::snapshot
