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

// The recorder's knowledge about a sampled object.
struct SampledObject {
  std::uint64_t bytes = 0;   // that the program requested
  std::uint32_t before = 0;  // its first bytes when it was allocated
};

// Recognises types by an object's first bytes where the allocating code does not show them:
// Crystal's Strings, and C++ objects with a vtable pointer. It ignores other Crystal headers: a
// buffer of numbers or of a union may begin like an object, and it is not known what points to it.
class ObjectTypes {
 public:
  ObjectTypes() = default;
  ObjectTypes(const crystal::TypeTable& classes,
              const Modules& modules,
              const MemoryReader& memory);
  // Built from parts, for tests. `bases` are classes from which others are derived.
  ObjectTypes(std::optional<std::uint32_t> string_id,
              cxx::VtableNames vtables,
              std::set<std::string> bases);

  // Whether no type is known.
  [[nodiscard]] bool is_empty() const { return !string_id_ && vtables_.names().empty(); }
  // Whether none of the known types has pointers.
  [[nodiscard]] bool only_atomic() const { return vtables_.names().empty(); }
  // How many of the first bytes of an object of this size are needed.
  [[nodiscard]] std::size_t needed(std::uint64_t bytes) const;

  struct Found {
    std::string name;
    // The object may be of a derived class, and under construction.
    bool may_be_base = false;
    // If `contents` has only a part of the text, the byte of the object at this offset must be 0.
    std::uint64_t end = 0;
  };
  // The type that `contents` proves; nothing if it proves none, or the program has not written it
  // since the allocation.
  [[nodiscard]] std::optional<Found> type_of(const SampledObject& object,
                                             std::span<const std::byte> contents) const;

 private:
  std::optional<std::uint32_t> string_id_;
  cxx::VtableNames vtables_{std::vector<Symbol>()};
  std::set<std::string> bases_;
};

}  // namespace heapattach::trace
