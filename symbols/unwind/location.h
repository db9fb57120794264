#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <elfutils/libdw.h>

#include "attach/memory/memory_reader.h"
#include "symbols/unwind/arch/machine_state.h"

namespace heapattach::unwind {

// The location of a value, or the value itself.
struct Location {
  enum class Kind : std::uint8_t { Address, Register, Value };
  Kind kind = Kind::Address;
  std::uint64_t value = 0;  // the address, the number of the register, or the value
};

// The inputs that an expression may use.
struct LocationContext {
  const MachineState& state;
  const MemoryReader& memory;
  std::uint64_t bias = 0;                   // added to addresses in the module
  std::optional<std::uint64_t> cfa;         // DW_OP_call_frame_cfa
  std::optional<std::uint64_t> frame_base;  // DW_OP_fbreg
};

// Evaluates an expression of debug information, on a stack that starts with `initial`. Returns
// nothing if the expression needs unknown input (a register that was not saved, memory that was not
// copied), states that there is no value, composes several locations, or uses an operation that
// needs a running program. The work is bounded for any input.
std::optional<Location> follow(std::span<const Dwarf_Op> expression,
                               const LocationContext& context,
                               std::optional<std::uint64_t> initial = {});

}  // namespace heapattach::unwind
