#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// The words of a thread's floating-point and vector registers that may hold pointers, for every
// processor, from what the kernel has saved. Words that are 0 are left out.
namespace heapattach {

// x87, SSE, AVX and AVX-512, from the memory layout of the instruction XSAVE: Intel's manual,
// volume 1, 13.4. It is also the layout of NT_X86_XSTATE and, without what comes after SSE, of
// NT_FPREGSET.
[[nodiscard]] std::vector<std::uint64_t> words_of_xsave(std::span<const std::byte> saved);
inline constexpr std::size_t kLeastXsaveBytes = 576;
inline constexpr std::size_t kMostXsaveBytes = 2688;  // up to ZMM31

// v0 to v31 of aarch64, from NT_FPREGSET.
[[nodiscard]] std::vector<std::uint64_t> words_of_fpsimd(std::span<const std::byte> saved);

// z0 to z31 of aarch64, which include v0 to v31, from NT_ARM_SVE or, in streaming mode, NT_ARM_SSVE
// (Documentation/arch/arm64/sve.rst and sme.rst).
[[nodiscard]] std::vector<std::uint64_t> words_of_sve(std::span<const std::byte> saved);
inline constexpr std::size_t kSveHeaderBytes = 16;  // struct user_sve_header
// Whether these registers are in use. If not, the layout after the header is that of NT_FPREGSET.
[[nodiscard]] bool has_sve(std::span<const std::byte> saved);

}  // namespace heapattach
