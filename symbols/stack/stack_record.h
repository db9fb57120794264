#pragma once

#include <cstdint>
#include <vector>

#include <sys/types.h>

#include "attach/remote_addr.h"

namespace heapattach::stack {

// How a frame was found, from the one that it called.
enum class FoundBy : std::uint8_t {
  Registers,     // it is the innermost: the thread's or fiber's own registers
  FrameTables,   // the program's call frame information
  SignalFrame,   // the registers that the kernel saved before a signal's handler
  FramePointer,  // the chain of frame pointers: a guess, checked as far as it can be
  Scan,          // the first word on the stack that could be a return address
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

// The stack of a thread, or of a fiber that is put aside.
struct StackRecord {
  pid_t thread = 0;         // 0: of a fiber
  std::uint64_t fiber = 0;  // its object
  std::vector<FrameRecord> frames;
  StackEnd end = StackEnd::Outermost;
};

}  // namespace heapattach::stack
