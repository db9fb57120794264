#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <sys/types.h>

#include "attach/arch/vector_words.h"
#include "attach/base/result.h"

namespace heapattach {

// The kind of note for ptrace(2) that has all these registers, and their fewest bytes.
#ifdef __x86_64__
inline constexpr std::uint32_t kExtendedState = 0x202;  // NT_X86_XSTATE
inline constexpr std::size_t kLeastExtendedState = kLeastXsaveBytes;
#else
inline constexpr std::uint32_t kExtendedState = 2;  // NT_PRFPREG
inline constexpr std::size_t kLeastExtendedState = 528;
#endif

// Reads the vector registers of a thread that is stopped and traced by this thread, and the base of
// gs where there is one; empty if the kernel refuses.
[[nodiscard]] std::vector<std::uint64_t> read_vector_registers(pid_t tid);

// Whether it has values in vector registers that a system call does not preserve.
[[nodiscard]] Result<bool> uses_wide_vectors(pid_t tid);

}  // namespace heapattach
