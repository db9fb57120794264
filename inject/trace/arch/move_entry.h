#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "symbols/code/disassembler.h"

namespace heapattach::trace {

// The first instructions of a function, adapted to do the same at another address.
struct MovedEntry {
  std::size_t bytes = 0;        // how much of the function was moved: whole instructions
  std::vector<std::byte> code;  // at the new address; its last instruction jumps to the rest
  // The old and new offset of each instruction.
  std::vector<std::pair<std::size_t, std::size_t>> steps;
};

// Moves as many instructions as a jump at the entry would overwrite. `function` is the function's
// entire code, at address `entry`. Impossible, with the reason, if they would not do the same at
// `to`, or if the function jumps between them.
Result<MovedEntry> move_entry(const Disassembler& disassembler,
                              std::span<const std::byte> function,
                              RemoteAddr entry,
                              RemoteAddr to);

}  // namespace heapattach::trace
