#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "symbols/unwind/arch/generated.h"

namespace heapattach::unwind {

// The frame that a function has made by the time it gets to an instruction: where the frame ends,
// just above the return address, and which of its caller's registers are in it.
struct GeneratedFrame {
  struct Saved {
    std::size_t number = 0;   // as in MachineState
    std::uint64_t below = 0;  // bytes from its place on the stack up to the end of the frame
  };
  bool is_from_frame_pointer = false;  // otherwise from the stack pointer
  std::uint64_t bytes = 0;             // from there to the end of the frame
  std::vector<Saved> saved;
};

// Where the function's frame is while it is at `pc`. If the instructions from `pc` on only leave
// the frame and return, they show it. Otherwise the instructions before `pc` do: only those at the
// function's start may move the stack pointer. Nothing if neither shows it.
[[nodiscard]] std::optional<GeneratedFrame> generated_frame(std::uint16_t machine,
                                                            const GeneratedFunction& function,
                                                            RemoteAddr pc);

}  // namespace heapattach::unwind
