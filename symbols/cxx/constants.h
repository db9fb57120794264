#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "symbols/elf/module.h"

namespace heapattach::cxx {

// Reads data that a program never changes. Segments that are not writable are read from the
// modules' files, so that no page of the target is touched; other data are read from memory, where
// they have been relocated. Keeps the last pieces, because most reads are close to the one before.
// Borrows the modules and the memory.
class Constants {
 public:
  Constants(const Modules& modules, const MemoryReader& memory)
      : modules_(modules), memory_(memory) {}

  [[nodiscard]] std::optional<std::uint64_t> word(std::uint64_t at) const;
  // Reads as many bytes as fit into `into`, and returns how many could be read.
  std::size_t read(std::uint64_t at, std::span<std::byte> into) const;

 private:
  struct Piece {
    std::uint64_t start = 0;
    std::vector<std::byte> bytes;
  };

  [[nodiscard]] std::span<const std::byte> piece_at(std::uint64_t at, std::size_t wanted) const;
  [[nodiscard]] std::size_t read_from_source(std::uint64_t at, std::span<std::byte> into) const;

  const Modules& modules_;
  const MemoryReader& memory_;
  mutable std::vector<Piece> pieces_;  // the last ones read
  mutable std::size_t oldest_ = 0;
};

}  // namespace heapattach::cxx
