#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "symbols/elf/module.h"

// What the kernel leaves on the stack of a signal handler, and the code that the handler returns
// to. The C library passes that code to the kernel with each handler; all libraries have the same.
namespace heapattach::unwind {

// mov $15,%rax; syscall: rt_sigreturn.
inline constexpr std::array<std::byte, 9> kSignalReturn = {
    std::byte{0x48}, std::byte{0xc7}, std::byte{0xc0}, std::byte{0x0f}, std::byte{0x00},
    std::byte{0x00}, std::byte{0x00}, std::byte{0x0f}, std::byte{0x05}};

// Where the kernel's ucontext_t, which the stack pointer points to after a handler has returned,
// has the registers (arch/x86/include/uapi/asm/sigcontext.h), by their numbers in debug
// information.
inline constexpr std::uint64_t kSavedAt = 40;
inline constexpr std::array<std::size_t, 17> kSavedByKernel = {8, 9, 10, 11, 12, 13, 14, 15, 5,
                                                               4, 6, 3,  1,  0,  2,  7,  16};
inline constexpr std::uint64_t kSavedStackPointerAt = kSavedAt + 15 * std::uint64_t{8};

// The name of a frame there.
inline constexpr const char* kSignalHandlerCalled = "<signal handler called>";

// Whether a handler returns to `pc`, by the module's file.
[[nodiscard]] bool is_signal_return(const Module& module, RemoteAddr pc);

}  // namespace heapattach::unwind
