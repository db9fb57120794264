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

// A thread's registers, from the note NT_PRSTATUS, `pr_reg` on. Missing words are 0.
[[nodiscard]] Registers core_registers(std::uint16_t machine, std::span<const std::byte> saved);
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
