#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbols/guile/facts.h"
#include "symbols/runtimes/heap_view.h"
#include "symbols/runtimes/object_names.h"
#include "symbols/runtimes/parts.h"

namespace heapattach::guile {

// A struct's description in its vtable.
struct Vtable {
  std::string name;                 // "<session>"; empty if it has none
  std::uint64_t slots = 0;          // the number of slots of an instance
  std::vector<std::string> fields;  // the names of the slots; empty if unknown
  bool makes_vtables = false;       // its instances are themselves vtables
};

// The vtables of a heap's structs, each read once.
class Vtables {
 public:
  // Borrows both.
  Vtables(const Facts& facts, const runtimes::HeapView& view) : facts_(facts), view_(view) {}

  // The vtable to which the first word of a struct points; null if that is no vtable.
  [[nodiscard]] const Vtable* of(std::uint64_t first_word);

 private:
  [[nodiscard]] std::optional<Vtable> read(std::uint64_t cell) const;
  [[nodiscard]] std::optional<std::uint64_t> cell_of_vtable(std::uint64_t first_word) const;
  [[nodiscard]] std::optional<std::uint64_t> slots_of_instances(std::uint64_t cell) const;
  [[nodiscard]] std::optional<std::uint64_t> slot(std::uint64_t cell, std::uint64_t index) const;
  [[nodiscard]] std::vector<std::string> fields_of(std::uint64_t cell,
                                                   std::uint64_t own_slots,
                                                   std::uint64_t fields) const;

  const Facts& facts_;
  const runtimes::HeapView& view_;
  std::unordered_map<std::uint64_t, std::optional<Vtable>> known_;  // by first word
};

// An object with its first word, which may be a tag.
struct Cell {
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;  // the size of the object
  std::uint64_t tag = 0;
  bool is_atomic = false;
};

[[nodiscard]] runtimes::Shape vector_shape();

// Reads the cells that have a tag. The tag alone is not trusted: the object's size and whether it
// may hold pointers must match its type, and its other words must be plausible.
class Cells {
 public:
  // Borrows its arguments.
  Cells(const Facts& facts, const runtimes::HeapView& view, runtimes::ObjectNames& names);

  // The shape of the object; nothing if it is not such a cell. Adds its parts to `parts`.
  [[nodiscard]] std::optional<runtimes::ShapeNumber> read(heap::ObjectRef ref,
                                                          std::vector<runtimes::Part>& parts);
  // Whether the object is a pair, which has no tag: an object of exactly two values.
  [[nodiscard]] bool is_pair(heap::ObjectRef ref) const;

 private:
  using ShapeNumber = runtimes::ShapeNumber;
  using Found = std::optional<ShapeNumber>;
  using Parts = std::vector<runtimes::Part>;

  [[nodiscard]] Cell cell_of(heap::ObjectRef ref) const;
  Found read_struct(const Cell& cell, Parts& parts);
  Found read_fixed(const Cell& cell, Parts& parts);
  Found read_array(const Cell& cell);
  Found read_bytes(const Cell& cell, Parts& parts);
  Found read_number(const Cell& cell, Parts& parts);
  Found read_smob(const Cell& cell, Parts& parts);
  [[nodiscard]] std::uint64_t word(const Cell& cell, std::uint64_t index) const;
  [[nodiscard]] bool are_values(const Cell& cell, std::uint64_t first, std::uint64_t count) const;
  // The number of the shape that all objects with `key` share.
  ShapeNumber known(std::uint64_t key, runtimes::Shape (*make)());
  ShapeNumber name_smob(std::uint64_t number, std::uint64_t type);

  const Facts& facts_;
  const runtimes::HeapView& view_;
  runtimes::ObjectNames& names_;
  Vtables vtables_;
  std::unordered_map<std::uint64_t, ShapeNumber> structs_;  // by first word
  std::unordered_map<std::uint64_t, ShapeNumber> smobs_;    // by number
  std::unordered_map<std::uint64_t, ShapeNumber> known_;    // by tag
};

}  // namespace heapattach::guile
