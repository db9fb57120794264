#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attach/process/memory_map.h"
#include "inject/arch/call_frame.h"

namespace heapattach {

// The stack frame with which a live thread enters a C function through the stub (stub.h). All of it
// is below the thread's red zone, in unused memory. From the highest address down:
//
//   the red zone, and room for the flags
//   the general registers, for a collector that scans the stack while the function runs: without
//   them it would free objects that only the registers reference
//   the vector registers, to be restored afterwards
//   a block: the arguments that go into registers; the address of errno, and its value
//   the texts, the other arguments
struct InPlaceFrame {
  RawRegisters registers{};
  RemoteAddr at;                 // where to write `bytes`
  std::vector<std::byte> bytes;  // up to the red zone
  RemoteAddr saved_errno;        // two words: errno's address, 0 until it is known, and its value
};

// The function of the target to call.
struct InPlaceFunction {
  RemoteAddr function;
  RemoteAddr errno_location;  // __errno_location; 0: errno is not restored
  std::span<const CallArgument> arguments;
};

// Makes the frame. `stub` is the address of the stub, and `extended` the result of
// RemoteControl::extended_state().
Result<InPlaceFrame> make_in_place_frame(const RawRegisters& found,
                                         RemoteAddr stub,
                                         const InPlaceFunction& function,
                                         std::span<const std::byte> extended);

// Returns the words in the registers for arguments.
[[nodiscard]] std::array<std::uint64_t, kArgumentRegisters> arguments_in(
    const RawRegisters& registers);

// Sets the registers from which the stub calls the function. `saved` is the address of the saved
// vector registers.
void give_to_stub(RawRegisters& registers,
                  const InPlaceFunction& function,
                  RemoteAddr saved,
                  RemoteAddr block);
void set_stack_pointer(RawRegisters& registers, RemoteAddr at);

// Whether the stack of `found` has room below `frame` for a function to run.
[[nodiscard]] bool has_room(const MemoryMap& map,
                            const RawRegisters& found,
                            const InPlaceFrame& frame);

}  // namespace heapattach
