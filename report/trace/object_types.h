#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "attach/memory/memory_reader.h"
#include "symbols/crystal/type_table.h"
#include "symbols/cxx/vtables.h"
#include "symbols/elf/module.h"

namespace heapattach::trace {

// What the recorder knows of a sampled object.
struct SampledObject {
  std::uint64_t bytes = 0;   // that the program requested
  std::uint32_t before = 0;  // its first bytes when it was allocated
};

// Knows the type of an object by its first bytes, for objects that the code which allocates them
// says nothing about: Crystal's Strings, and C++ objects with a vtable pointer. Other headers of
// Crystal are not believed here: a buffer of numbers or of a union may begin like an object, and
// what points to it is not known.
class ObjectTypes {
 public:
  ObjectTypes() = default;
  ObjectTypes(const crystal::TypeTable& classes,
              const Modules& modules,
              const MemoryReader& memory);
  // From parts, for tests. `bases` are classes from which others are derived.
  ObjectTypes(std::optional<std::uint32_t> string_id,
              cxx::VtableNames vtables,
              std::set<std::string> bases);

  // Whether it knows any type.
  [[nodiscard]] bool is_empty() const { return !string_id_ && vtables_.names().empty(); }
  // Whether all types that it knows are without pointers.
  [[nodiscard]] bool only_atomic() const { return vtables_.names().empty(); }
  // How many of the first bytes of an object of this size are needed.
  [[nodiscard]] std::size_t needed(std::uint64_t bytes) const;

  struct Found {
    std::string name;
    // It may be an object of a derived class which is being constructed.
    bool may_be_base = false;
    // Its text is not in `contents` as a whole: a byte of this offset must be 0.
    std::uint64_t end = 0;
  };
  // None if nothing in `contents` proves a type, or if the program has not written it since the
  // object was allocated.
  [[nodiscard]] std::optional<Found> type_of(const SampledObject& object,
                                             std::span<const std::byte> contents) const;

 private:
  std::optional<std::uint32_t> string_id_;
  cxx::VtableNames vtables_{std::vector<Symbol>()};
  std::set<std::string> bases_;
};

}  // namespace heapattach::trace
