#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <elfutils/libdw.h>

#include "attach/memory_reader.h"
#include "symbols/unwind/machine_state.h"

namespace heapattach::unwind {

// Where a value is, or what it is.
struct Location {
  enum class Kind : std::uint8_t { Address, Register, Value };
  Kind kind = Kind::Address;
  std::uint64_t value = 0;  // the address, the register's number, or the value itself
};

// What an expression may refer to.
struct LocationContext {
  const MachineState& state;
  const MemoryReader& memory;
  std::uint64_t bias = 0;                   // of addresses in the module
  std::optional<std::uint64_t> cfa;         // DW_OP_call_frame_cfa
  std::optional<std::uint64_t> frame_base;  // DW_OP_fbreg
};

// Evaluates an expression of debug information, on a stack that starts with `initial`. Nothing if
// it needs unknown input (a register that was not saved, memory that was not copied), states that
// there is no value, is split over several locations, or uses what only a debugger that runs the
// program could know. Bounded for any input.
std::optional<Location> follow(std::span<const Dwarf_Op> expression,
                               const LocationContext& context,
                               std::optional<std::uint64_t> initial = {});

}  // namespace heapattach::unwind
