#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "attach/base/remote_addr.h"

namespace heapattach::unwind {

// How a frame was found, from the one that it called.
enum class FoundBy : std::uint8_t {
  Registers,     // the innermost: the thread's or fiber's own registers
  FrameTables,   // the program's call frame information
  SignalFrame,   // the registers that the kernel saved before a signal handler
  FramePointer,  // the chain of frame pointers: a guess, checked as far as it can be
  Scan,          // a word on the stack that could be a return address: a guess
  Code,          // the instructions up to its return: the function has no tables
};

// Why a stack ends.
enum class StackEnd : std::uint8_t {
  Outermost,   // by the program's tables, this frame has no caller
  Limit,       // there are more frames
  Unknown,     // neither tables nor a frame pointer continue it
  Corrupt,     // the next step is impossible: no code there, or the stack would shrink
  Generated,   // the caller is code generated at run time, which nothing describes
  OtherStack,  // the function has switched stacks: its caller is on another one
};

// A frame in the result.
struct FrameRecord {
  RemoteAddr pc;             // in the instruction that it is in
  RemoteAddr stack_pointer;  // the frame's data begins here
  RemoteAddr cfa;            // … and ends here; 0: unknown
  FoundBy found_by = FoundBy::Registers;
};

// How many frames of a stack are kept, and how many followed.
struct FrameLimits {
  std::size_t innermost = 192;
  std::size_t outermost = 64;
  std::uint64_t followed = 4'000'000;
};

// The stack of a thread, or of a suspended fiber.
struct StackRecord {
  pid_t thread = 0;                 // 0: of a fiber
  std::uint64_t fiber = 0;          // its object
  std::vector<FrameRecord> frames;  // the innermost first
  // The number of frames that are left out of a very deep stack, and the number of kept frames
  // before them.
  std::uint64_t left_out = 0;
  std::uint32_t left_out_behind = 0;
  StackEnd end = StackEnd::Outermost;

  // The number of frame `index` (of those above) on the stack.
  [[nodiscard]] std::uint64_t number_of(std::size_t index) const {
    return index < left_out_behind ? index : index + left_out;
  }
};

// The name that Crystal gives to every proc, and to a block that becomes one.
inline constexpr std::string_view kProcName = "->";

// A function around an instruction.
struct Place {
  std::string function;  // as people write it (function_name.h); empty: unknown
  std::string file;      // as given to the compiler; empty: unknown
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  bool is_inlined = false;  // into the next one
  // The file of the function, if it is another one: Crystal puts the code of a method that takes a
  // block into its caller, and marks it only by file and line.
  std::string home{};
  // The function that makes a Crystal proc, if this is one; empty: unknown.
  std::string maker{};

  friend bool operator==(const Place&, const Place&) = default;
};

// The functions at an instruction: the one around it, and before it those that were inlined there,
// each called at its own line of the next one. Empty if unknown.
struct CodePlaces {
  RemoteAddr pc;
  std::vector<Place> places;
};

}  // namespace heapattach::unwind
