#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attach/arch/registers.h"
#include "attach/memory/memory_reader.h"

namespace heapattach {

// The name of a clone in ps; at most 15 letters (prctl(2), PR_SET_NAME).
inline constexpr char kCloneName[] = "heapattach-copy";

// The few instructions that a borrowed thread runs for us: one system call, and then a return to
// its own code. They complete even without a tracer. If we die at any moment, the thread makes the
// call, restores its signal mask, loads every register, and jumps to where it was.
//
// The code and its data are together in memory that is executable and not writable. The stub stores
// nothing there.
struct Stub {
  // The size of a stub in bytes, with its data.
  static std::size_t size_bytes();

  // Returns the bytes of a stub at `at`, for which can_return() must hold. The thread returns to
  // `way_back` with the signal mask `mask`. A clone sleeps for `clone_seconds` before it exits by
  // itself.
  static std::vector<std::byte> image(RemoteAddr at,
                                      const RawRegisters& way_back,
                                      std::uint64_t mask,
                                      std::uint64_t clone_seconds,
                                      std::string_view name = kCloneName);
  // The offset of `name`, a zero-terminated text that a call may need.
  static std::size_t name_at();

  // The offsets of the stub's entries: for an ordinary call, and for a call that makes a process.
  static std::size_t call_entry();
  static std::size_t clone_entry();

  // The size of the extra code in front of a stub that first calls a function of the target. Such a
  // stub is entered at its beginning. Its system call is a getpid, at call_entry() counted from the
  // end of the extra code.
  static std::size_t function_bytes();
  static std::vector<std::byte> function_image(RemoteAddr at,
                                               const RawRegisters& way_back,
                                               std::uint64_t mask);
#ifdef __x86_64__
  static constexpr bool kReachesEverywhere = true;
#else
  static constexpr bool kReachesEverywhere = false;
#endif
  // Whether a stub at `at`, of either kind, can bring a thread back to `goal`.
  static bool can_return(RemoteAddr at, RemoteAddr goal);
  // The offset in a stub with the extra code to which the function returns.
  static std::size_t function_return();
  // Returns the result of the function, from the registers at the system call after it.
  static std::uint64_t function_result(const RawRegisters& at);

  // A stub that was left in memory, with or without the extra code in front.
  struct Left {
    std::size_t bytes = 0;
    RemoteAddr stack;  // the stack pointer of the thread for which it was written
  };
  // Returns nothing if `bytes` do not start with a stub.
  static std::optional<Left> recognize(std::span<const std::byte> bytes);
};

// The thread must have this much stack mapped below its stack pointer. On x86-64, the stub needs it
// for the ABI's red zone and for the flags, which can be restored only through the stack.
#ifdef __x86_64__
inline constexpr std::uint64_t kStackBytes = 128 + 64;
#else
inline constexpr std::uint64_t kStackBytes = 16;
#endif

// Returns the address after an instruction with which a clone can make other system calls. The
// clone sleeps in the stub with the registers `found`.
Result<RemoteAddr> place_for_calls(const RawRegisters& found, const MemoryReader& memory);

// Returns the registers with which a thread enters the stub and makes system call `number`.
RawRegisters entering(const RawRegisters& found,
                      RemoteAddr entry,
                      long number,
                      std::span<const std::uint64_t> arguments);

}  // namespace heapattach
