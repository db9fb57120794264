#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attach/arch/registers.h"

// The registers of threads in core files, for every processor that we know, whatever ours is.
namespace heapattach {

// Registers::general of a thread of aarch64 is x16 to x30, in this order. The others, x0 to x15,
// are the first words of its vector_registers.
inline constexpr std::size_t kFirstGeneralOfAarch64 = 16;

// A thread's registers as far as one kind of note has them.
struct CoreRegisters {
  Registers registers;
  std::vector<std::uint64_t> others;  // general ones for which Registers has no room
};
// The note NT_PRSTATUS from `pr_reg` on. Missing words are 0.
[[nodiscard]] CoreRegisters core_registers(std::uint16_t machine, std::span<const std::byte> saved);
// The bytes of these registers.
[[nodiscard]] std::size_t core_register_bytes(std::uint16_t machine);

// The words of the floating-point and vector registers that are not 0, from a note `type` of
// `owner` (NT_FPREGSET, NT_X86_XSTATE); empty for other notes.
[[nodiscard]] std::vector<std::uint64_t> core_vector_words(std::uint16_t machine,
                                                           std::string_view owner,
                                                           std::uint32_t type,
                                                           std::span<const std::byte> saved);

// The thread pointer, if the note has it.
[[nodiscard]] std::optional<RemoteAddr> core_thread_pointer(std::uint16_t machine,
                                                            std::string_view owner,
                                                            std::uint32_t type,
                                                            std::span<const std::byte> saved);

}  // namespace heapattach
