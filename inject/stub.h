#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attach/registers.h"

namespace heapattach {

// The name of a clone in ps until it ends; at most 15 letters (prctl(2), PR_SET_NAME).
inline constexpr char kCloneName[] = "heapattach-copy";

// The few instructions that a borrowed thread runs for us: one system call, and then its own way
// back. They need no tracer to end well. If we die at any moment, the thread makes its call, sets
// its signal mask again, loads every register, and jumps to where it was.
//
// The code and its data are together in memory that is executable and not writable; nothing is
// stored there while it runs.
struct Stub {
  // How many bytes it takes, code and data.
  static std::size_t size_bytes();

  // The whole stub, for any address. The thread returns to `way_back` with the signal mask `mask`.
  // A clone sleeps for `clone_seconds` before it exits by itself.
  static std::vector<std::byte> image(const RawRegisters& way_back,
                                      std::uint64_t mask,
                                      std::uint64_t clone_seconds,
                                      std::string_view name = kCloneName);
  // Where it has `name`, which ends in a zero: a text that a call may need.
  static std::size_t name_at();

  // Its entry points, as offsets: for an ordinary call, and for one that makes a second process.
  static std::size_t call_entry();
  static std::size_t clone_entry();

  // The size of the same stub with a piece in front that first calls a function of the target; it
  // is entered at its beginning. It ends in a getpid at call_entry(), counted from the end of that
  // piece.
  static std::size_t function_bytes();
  static std::vector<std::byte> function_image(const RawRegisters& way_back, std::uint64_t mask);
  // Where the function returns to, as an offset into that.
  static std::size_t function_return();

  // A stub that was left in memory, with or without the piece in front.
  struct Left {
    std::size_t bytes = 0;
    RemoteAddr stack;  // of the thread that it was written for
  };
  // None if `bytes` do not begin with one.
  static std::optional<Left> recognize(std::span<const std::byte> bytes);
};

// The thread must have this much of its stack mapped below the stack pointer: the red zone of the
// ABI, and room for the flags, which can be restored only through the stack.
inline constexpr std::uint64_t kStackBytes = 128 + 64;

// The registers with which a thread enters the stub to make system call `number`.
RawRegisters entering(const RawRegisters& found,
                      RemoteAddr entry,
                      long number,
                      std::span<const std::uint64_t> arguments);

}  // namespace heapattach
