#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "attach/remote_addr.h"

namespace heapattach::unwind {

// How a frame was found, from the one that it called.
enum class FoundBy : std::uint8_t {
  Registers,     // it is the innermost: the thread's or fiber's own registers
  FrameTables,   // the program's call frame information
  SignalFrame,   // the registers that the kernel saved before a signal's handler
  FramePointer,  // the chain of frame pointers: a guess, checked as far as it can be
  Scan,          // a word on the stack that could be a return address: a guess
};

// Why a stack ends where it does.
enum class StackEnd : std::uint8_t {
  Outermost,  // the program says that this frame has no caller
  Limit,      // there are more frames
  Unknown,    // neither tables nor a frame pointer lead on
  Corrupt,    // what they lead to cannot be: no code, or a stack that shrinks
};

// A frame as it is told.
struct FrameRecord {
  RemoteAddr pc;             // in the instruction that it is in
  RemoteAddr stack_pointer;  // what belongs to the frame begins here
  RemoteAddr cfa;            // … and ends here; 0: not known
  FoundBy found_by = FoundBy::Registers;
};

// How much of a stack is kept, and followed.
struct FrameLimits {
  std::size_t innermost = 192;
  std::size_t outermost = 64;
  std::uint64_t followed = 4'000'000;
};

// The stack of a thread, or of a fiber that is put aside.
struct StackRecord {
  pid_t thread = 0;                 // 0: of a fiber
  std::uint64_t fiber = 0;          // its object
  std::vector<FrameRecord> frames;  // the innermost first
  // How many are left out, of a stack that has very many, and behind how many of the above.
  std::uint64_t left_out = 0;
  std::uint32_t left_out_behind = 0;
  StackEnd end = StackEnd::Outermost;

  // The number that frame `index` of the above has on the stack.
  [[nodiscard]] std::uint64_t number_of(std::size_t index) const {
    return index < left_out_behind ? index : index + left_out;
  }
};

// A function that an instruction is in.
struct Place {
  std::string function;  // as people write it (function_name.h); empty: not known
  std::string file;      // as the compiler was told; empty: not known
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  bool is_inlined = false;  // into the next one
  // Where the function is written, if that is another file: Crystal puts the code of a method that
  // takes a block into its caller, and says so by file and line alone.
  std::string home{};

  friend bool operator==(const Place&, const Place&) = default;
};

// What is at an instruction: the function around it, and before it those that were inlined there,
// each called at its own line of the next one. Empty if nothing is known of it.
struct CodePlaces {
  RemoteAddr pc;
  std::vector<Place> places;
};

}  // namespace heapattach::unwind
