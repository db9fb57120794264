#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "attach/base/remote_addr.h"

namespace heapattach::unwind {

// How a frame was found from the frame that it called.
enum class FoundBy : std::uint8_t {
  Registers,     // the thread's or fiber's own registers, for the innermost frame
  FrameTables,   // the program's call frame information
  SignalFrame,   // the registers that the kernel saved before a signal handler
  FramePointer,  // the chain of frame pointers: a guess, checked as far as it can be
  Scan,          // a word on the stack that could be a return address: a guess
  Code,          // the instructions up to the return of a function without tables
};

// Why a stack ends.
enum class StackEnd : std::uint8_t {
  Outermost,   // the program's tables say that this frame has no caller
  Limit,       // there are more frames
  Unknown,     // neither tables nor a frame pointer lead to a caller
  Corrupt,     // the next step is impossible: no code there, or the stack would shrink
  Generated,   // the caller is code generated at run time, which nothing describes
  OtherStack,  // the function has switched stacks, and its caller is on another one
};

// A frame in the result.
struct FrameRecord {
  RemoteAddr pc;             // an address in the frame's current instruction
  RemoteAddr stack_pointer;  // where the frame's data begins
  RemoteAddr cfa;            // where the frame's data ends; 0: unknown
  FoundBy found_by = FoundBy::Registers;
};

// The numbers of frames of a stack that are kept and followed.
struct FrameLimits {
  std::size_t innermost = 192;
  std::size_t outermost = 64;
  std::uint64_t followed = 4'000'000;
};

// The stack of a thread, or of a suspended fiber.
struct StackRecord {
  pid_t thread = 0;                 // 0 for a fiber
  std::uint64_t fiber = 0;          // the fiber's object
  std::vector<FrameRecord> frames;  // the innermost first
  // For a very deep stack: the number of frames that are left out, and the number of kept frames
  // before the gap.
  std::uint64_t left_out = 0;
  std::uint32_t left_out_behind = 0;
  StackEnd end = StackEnd::Outermost;

  // The number on the whole stack of the frame that is frames[index].
  [[nodiscard]] std::uint64_t number_of(std::size_t index) const {
    return index < left_out_behind ? index : index + left_out;
  }
};

// The name that Crystal gives to every proc, and to a block that becomes a proc.
inline constexpr std::string_view kProcName = "->";

// A function around an instruction.
struct Place {
  std::string function;  // as people write it (function_name.h); empty: unknown
  std::string file;      // as given to the compiler; empty: unknown
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  bool is_inlined = false;  // the function is inlined into the next one
  // The file in which the function is declared, if that is not `file`: Crystal puts the code of a
  // method that takes a block into its caller, and marks it only by file and line.
  std::string home{};
  // The function that makes a Crystal proc, if this is one; empty: unknown.
  std::string maker{};

  friend bool operator==(const Place&, const Place&) = default;
};

// The functions at an instruction: those that were inlined there, the innermost first, and then the
// function around it. Each is called at a line of the next one. Empty if unknown.
struct CodePlaces {
  RemoteAddr pc;
  std::vector<Place> places;
};

}  // namespace heapattach::unwind
