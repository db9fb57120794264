#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "attach/arch/registers.h"
#include "attach/base/result.h"

namespace heapattach {

// A number, an address, or a string whose address is passed to the function.
using CallArgument = std::variant<std::uint64_t, std::string>;

// The return address of a called function. Nothing is ever mapped there, so the return causes a
// fault at exactly this address, with the stack intact, and no instruction has to be written
// anywhere. On aarch64, the address is a multiple of 4, as for an instruction, and below the lowest
// address that a kernel lets a program map.
#ifdef __x86_64__
inline constexpr RemoteAddr kReturnAddress{0xca11};
inline constexpr std::size_t kArgumentRegisters = 6;
inline constexpr std::uint64_t kReturnBytes = 8;  // the size of the return address on the stack
#else
inline constexpr RemoteAddr kReturnAddress{0x7a10};
inline constexpr std::size_t kArgumentRegisters = 8;
inline constexpr std::uint64_t kReturnBytes = 0;  // the return address is in x30
#endif

// The registers and stack for entering a C function on a stopped thread, per the processor's ABI.
struct CallFrame {
  RawRegisters registers{};
  RemoteAddr at;  // where to write `stack`: the thread's stack pointer on entry
  // The return address, the arguments that did not fit into registers, and the strings.
  std::vector<std::byte> stack;
  [[nodiscard]] RemoteAddr stack_after() const { return at + kReturnBytes; }
};

// The limit of the bytes of string arguments, which must fit on the thread's stack.
inline constexpr std::size_t kMostTextBytes = std::size_t{64} * 1024;

// Makes the frame. `found` are the registers of a stopped thread that uses nothing below its stack
// pointer.
Result<CallFrame> make_call_frame(const RawRegisters& found,
                                  RemoteAddr function,
                                  std::span<const CallArgument> arguments);

// The registers of a thread that is about to execute the first instruction of the function, with
// this stack pointer and these words in the registers for arguments.
[[nodiscard]] RawRegisters entering_function(
    const RawRegisters& found,
    RemoteAddr function,
    std::uint64_t stack,
    std::span<const std::uint64_t, kArgumentRegisters> arguments);

// The result of a C function, from the registers of a thread that has just returned from it.
[[nodiscard]] std::uint64_t function_result(const RawRegisters& now);

// Whether a thread stopped by SIGSEGV has returned from the function.
[[nodiscard]] bool has_returned(const CallFrame& frame, const RawRegisters& now);

}  // namespace heapattach
