#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "symbols/code/disassembler.h"

namespace heapattach::trace {

// The first instructions of a function, moved to a place where they do the same.
struct MovedEntry {
  std::size_t bytes = 0;        // of the function, that moved: whole instructions
  std::vector<std::byte> code;  // at the new place; its last instruction jumps to the rest
  // Where each instruction was, and is, from either beginning.
  std::vector<std::pair<std::size_t, std::size_t>> steps;
};

// Moves as many instructions as a jump at the entry covers. `function` is all its code, which is at
// `entry`. Impossible, with the reason, if they would not do the same at `to`, or if the function
// jumps between them.
Result<MovedEntry> move_entry(const Disassembler& disassembler,
                              std::span<const std::byte> function,
                              RemoteAddr entry,
                              RemoteAddr to);

}  // namespace heapattach::trace
