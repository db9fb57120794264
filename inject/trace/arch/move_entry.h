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
  std::size_t kept = 0;         // bytes before the jump, which stay in the function as they are
  std::size_t bytes = 0;        // moved bytes after them: whole instructions
  std::vector<std::byte> code;  // the code for the new address; it ends in a jump to the rest
  // The old and new offset of each instruction.
  std::vector<std::pair<std::size_t, std::size_t>> steps;
  // Code that undoes what the kept instruction did, because the moved code does it again. May be
  // empty.
  std::vector<std::byte> undo;
};

// Moves as many instructions as a jump at the entry would overwrite. `function` is the function's
// entire code, at address `entry`, of the disassembler's processor. Returns Impossible with the
// reason if the instructions would not do the same at `to`, or if the function jumps between them.
Result<MovedEntry> move_entry(const Disassembler& disassembler,
                              std::span<const std::byte> function,
                              RemoteAddr entry,
                              RemoteAddr to);

Result<MovedEntry> move_entry_of_x86_64(const Disassembler& disassembler,
                                        std::span<const std::byte> function,
                                        RemoteAddr entry,
                                        RemoteAddr to);
Result<MovedEntry> move_entry_of_aarch64(std::span<const std::byte> function,
                                         RemoteAddr entry,
                                         RemoteAddr to);

}  // namespace heapattach::trace
