#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attach/memory_map.h"
#include "inject/call_frame.h"

namespace heapattach {

// How a thread that has a life of its own enters a C function by way of the stub (stub.h). All that
// it needs lies below its red zone, which nobody owns:
//
//   its red zone, and room for the flags
//   its general registers, for a collector that looks for pointers on its stack while the function
//   runs: what only they held would be freed otherwise
//   its vector registers, as they are to be afterwards
//   the first six arguments; where errno is, and what was in it
//   the texts, the other arguments
struct InPlaceFrame {
  RawRegisters registers{};
  RemoteAddr at;                 // where `bytes` are to be written
  std::vector<std::byte> bytes;  // up to its red zone
  RemoteAddr saved_errno;        // two words: its address, 0 until it is known, and its value
};

// What of the target is called.
struct InPlaceFunction {
  RemoteAddr function;
  RemoteAddr errno_location;  // __errno_location; 0: errno is not put back
  std::span<const CallArgument> arguments;
};

// `stub` is where the stub begins, `extended` what xrstor takes.
Result<InPlaceFrame> make_in_place_frame(const RawRegisters& found,
                                         RemoteAddr stub,
                                         const InPlaceFunction& function,
                                         std::span<const std::byte> extended);

// Whether the stack of `found` has room below `frame` for a function to work in.
[[nodiscard]] bool has_room(const MemoryMap& map,
                            const RawRegisters& found,
                            const InPlaceFrame& frame);

}  // namespace heapattach
