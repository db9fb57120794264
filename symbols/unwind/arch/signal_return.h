#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "attach/memory/memory_reader.h"
#include "symbols/elf/module.h"

// The kernel's data on the stack of a signal handler, and the code that the handler returns to. The
// C library passes that code to the kernel with each handler; all C libraries use the same code.
namespace heapattach::unwind {

// x86-64: mov $15,%rax; syscall: rt_sigreturn.
inline constexpr std::array<std::byte, 9> kSignalReturn = {
    std::byte{0x48}, std::byte{0xc7}, std::byte{0xc0}, std::byte{0x0f}, std::byte{0x00},
    std::byte{0x00}, std::byte{0x00}, std::byte{0x0f}, std::byte{0x05}};

// x86-64: the offsets of the registers, by DWARF number, in the kernel's ucontext_t
// (arch/x86/include/uapi/asm/sigcontext.h), to which the stack pointer points after a handler has
// returned.
inline constexpr std::uint64_t kSavedAt = 40;
inline constexpr std::array<std::size_t, 17> kSavedByKernel = {8, 9, 10, 11, 12, 13, 14, 15, 5,
                                                               4, 6, 3,  1,  0,  2,  7,  16};
inline constexpr std::uint64_t kSavedStackPointerAt = kSavedAt + 15 * std::uint64_t{8};

// How the kernel has saved the registers of the code that a signal interrupted, for any processor.
struct SignalFrame {
  std::uint64_t saved_at = 0;              // from the stack pointer after a handler has returned
  std::span<const std::size_t> registers;  // the DWARF numbers of the words there
};
[[nodiscard]] SignalFrame signal_frame(std::uint16_t machine);

// What a signal has interrupted, according to the kernel's data on the stack of its handler.
struct Interrupted {
  std::uint64_t stack_pointer = 0;
  RemoteAddr saved;               // where these data are
  std::uint64_t bytes_below = 0;  // that the code may use below the stack pointer
};
// `place` on a stack has the address of code. Nothing if no handler returns to that code.
[[nodiscard]] std::optional<Interrupted> interrupted_at(const MemoryReader& memory,
                                                        RemoteAddr code,
                                                        RemoteAddr place,
                                                        const Range& stack);
inline constexpr std::uint64_t kMostSignalStack = 64 << 10;  // stacks for handlers are small

// The name of such a frame.
inline constexpr const char* kSignalHandlerCalled = "<signal handler called>";

// Whether `pc` is the code that a handler returns to, according to the module's file.
[[nodiscard]] bool is_signal_return(const Module& module, RemoteAddr pc);

}  // namespace heapattach::unwind
