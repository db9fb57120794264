#pragma once

#include <cstdint>
#include <optional>

#include <capstone/capstone.h>

#include "attach/base/remote_addr.h"

namespace heapattach {

// Where an instruction of x86-64 continues.
struct Branch {
  bool is_call = false;
  bool is_jump = false;  // also a conditional one
  bool ends = false;     // the next instruction does not follow: a jump, a return, a trap
  // The destination, or the place that contains it; none for other ways to compute it.
  std::optional<RemoteAddr> to;
  std::optional<RemoteAddr> slot;

  [[nodiscard]] bool always_jumps() const { return is_jump && ends; }
};
[[nodiscard]] Branch branch_of(const cs_insn& instruction, RemoteAddr at);

}  // namespace heapattach
