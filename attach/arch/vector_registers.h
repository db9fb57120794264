#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sys/types.h>

namespace heapattach {

// The kind of note, in core files and for ptrace(2), that has all these registers, and their fewest
// bytes.
inline constexpr std::uint32_t kExtendedState = 0x202;  // NT_X86_XSTATE
inline constexpr std::size_t kLeastExtendedState = 576;

// The words of a thread's floating-point and vector registers (x87, SSE, AVX, AVX-512) that may
// hold pointers, from the memory layout of the instruction XSAVE: Intel's manual, volume 1, 13.4.
// It is also the layout of NT_X86_XSTATE and, without what comes after SSE, of NT_FPREGSET.
[[nodiscard]] std::vector<std::uint64_t> vector_words(std::span<const std::byte> saved);

// Reads the vector registers of a thread that is stopped and traced by this thread; empty if the
// kernel refuses.
[[nodiscard]] std::vector<std::uint64_t> read_vector_registers(pid_t tid);

}  // namespace heapattach
