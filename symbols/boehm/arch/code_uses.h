#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <capstone/capstone.h>

#include "attach/base/remote_addr.h"

// Which addresses machine code names.
namespace heapattach::boehm {

// Whether the functions below know the code of a processor (e_machine).
[[nodiscard]] bool shows_uses(std::uint16_t machine);

// Where to look for uses of addresses.
struct UsesOf {
  std::span<const std::byte> code;
  RemoteAddr start;  // of the code
  Range extent;      // only addresses in it count
  // Whether addresses are so short that they may be operands themselves.
  bool has_short_addresses = false;
};

// Calls visit(at, target) for each part of the code that may be an operand with the address
// `target`, whether it is one or not.
void each_use(const UsesOf& of, const std::function<void(RemoteAddr at, RemoteAddr target)>& visit);

// Calls visit(target) for each address that an instruction names.
void each_target(const cs_insn& instruction, const std::function<void(RemoteAddr target)>& visit);

// Whether it is a jump without a condition, or a call.
[[nodiscard]] bool jumps_or_calls(const cs_insn& instruction);

// The addresses that code at `at` loads relative to itself. None for a processor (e_machine) that
// we do not know.
[[nodiscard]] std::vector<RemoteAddr> loaded_addresses(std::uint16_t machine,
                                                       std::span<const std::byte> code,
                                                       RemoteAddr at);

}  // namespace heapattach::boehm
