#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbols/ecl/facts.h"
#include "symbols/ecl/types.h"
#include "symbols/runtimes/heap_view.h"
#include "symbols/runtimes/object_names.h"
#include "symbols/runtimes/parts.h"

namespace heapattach::ecl {

// Reads the objects that contain their type. The type alone is not trusted: the object's size and
// whether it may hold pointers must match the type, and its other words must be plausible.
class Objects {
 public:
  // Borrows its arguments.
  Objects(const Facts& facts, const runtimes::HeapView& view, runtimes::ObjectNames& names)
      : facts_(facts), view_(view), names_(names) {}

  // The shape of the object; nothing if it does not contain a type. Adds its parts to `parts`.
  [[nodiscard]] std::optional<runtimes::ShapeNumber> read(heap::ObjectRef ref,
                                                          std::vector<runtimes::Part>& parts);
  // Whether it is a cons, which has no type: an object of exactly two values.
  [[nodiscard]] bool is_cons(heap::ObjectRef ref) const;

 private:
  using ShapeNumber = runtimes::ShapeNumber;
  using Parts = std::vector<runtimes::Part>;

  struct Candidate {
    std::uint64_t at = 0;
    std::uint64_t bytes = 0;  // of the object
    std::uint8_t number = 0;  // of its type
    const KnownType* type = nullptr;
    bool is_atomic = false;
  };
  struct Class {
    ShapeNumber instance = 0;
    ShapeNumber slots = 0;
  };

  [[nodiscard]] std::optional<Candidate> candidate(heap::ObjectRef ref) const;
  [[nodiscard]] bool has_size(const Candidate& object) const;
  [[nodiscard]] bool has_values(const Candidate& object) const;
  [[nodiscard]] std::uint64_t word(const Candidate& object, std::uint64_t index) const;
  std::optional<ShapeNumber> read_instance(const Candidate& object, Parts& parts);
  void add_parts(const Candidate& object, Parts& parts);
  std::optional<Class> read_class(std::uint64_t at, const Candidate& instance);
  [[nodiscard]] std::vector<std::string> slot_names(const Candidate& instance) const;
  [[nodiscard]] std::string class_name(std::uint64_t at) const;
  ShapeNumber shape_of(const KnownType& type);

  const Facts& facts_;
  const runtimes::HeapView& view_;
  runtimes::ObjectNames& names_;
  std::unordered_map<const KnownType*, ShapeNumber> shapes_;
  std::unordered_map<std::uint64_t, std::optional<Class>> classes_;  // by address
};

}  // namespace heapattach::ecl
