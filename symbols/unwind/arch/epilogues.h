#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "symbols/code/disassembler.h"
#include "symbols/elf/module.h"

namespace heapattach::unwind {

// A word of the stack, by its distance from the stack pointer or from the frame pointer.
struct StackPlace {
  bool is_from_frame_pointer = false;
  std::int64_t offset = 0;
};

// One way in which a function returns: where its return address is, and where it has saved its
// caller's registers.
struct Epilogue {
  struct Saved {
    std::size_t number = 0;  // of the register, as in MachineState
    StackPlace at;
  };
  StackPlace return_address;
  std::vector<Saved> saved;
  std::uint32_t changed = 0;  // the registers that differ from the caller's and were not saved
};

// Learns from the code after an instruction how its function returns, for functions without tables,
// such as those of musl. Code is followed along jumps until it returns; calls leave the stack as it
// was. A call that never returns may be followed by another function's code, so some results may be
// wrong: check each return address.
class Epilogues {
 public:
  // From `pc`, the next instruction to run. Empty if no path reaches a return.
  const std::vector<Epilogue>& at(const Module& module, RemoteAddr pc);

 private:
  std::optional<Disassembler> disassembler_;  // made on first use
  std::unordered_map<std::uint64_t, std::vector<Epilogue>> known_;
};

// Whether the code from `start` to `end` loads the stack pointer from memory other than its own
// frame. Then the words above on the stack are unrelated to the code's caller.
[[nodiscard]] bool switches_stack(const Module& module, RemoteAddr start, RemoteAddr end);

}  // namespace heapattach::unwind
