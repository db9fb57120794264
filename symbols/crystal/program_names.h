#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "attach/memory/memory_reader.h"
#include "symbols/elf/module.h"

namespace heapattach::crystal {

// The names that a program itself contains for its type ids. They belong to this exact build, so a
// source that contradicts them is wrong.
struct ProgramNames {
  // Names by id, in the form of canonical_name(). `from_symbols` may include value types, which
  // have no instances of their own.
  std::unordered_map<std::uint32_t, std::string> from_symbols;
  std::unordered_map<std::uint32_t, std::string> from_table;
  std::uint32_t last_class = 0;  // ids up to this one are classes, those above are not; 0: unknown

  // Null if the id has no name.
  [[nodiscard]] const std::string* find(std::uint32_t id) const;
  // Whether the program rules out that an object has this id.
  [[nodiscard]] bool is_no_class(std::uint32_t id) const {
    return last_class != 0 && id > last_class;
  }
  [[nodiscard]] bool empty() const { return from_symbols.empty() && from_table.empty(); }
};

// Reads both kinds of names. `memory` is read for words that the loader relocated.
ProgramNames read_program_names(const Module& program, const MemoryReader& memory);

}  // namespace heapattach::crystal
