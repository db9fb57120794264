#pragma once

#include <string_view>

#include "symbols/unwind/arch/epilogues.h"
#include "symbols/unwind/arch/machine_state.h"
#include "symbols/unwind/arch/prologues.h"
#include "symbols/unwind/arch/return_addresses.h"
#include "symbols/unwind/arch/signal_return.h"
#include "symbols/unwind/arch/stubs.h"

// The functions of this folder, for the code of aarch64 (A64).
namespace heapattach::unwind::aarch64 {

// DWARF for the Arm 64-bit Architecture, 4.1: x0 to x30, sp, pc. Preserved: x19 to x29.
inline constexpr RegisterNumbers kNumbers{.machine = EM_AARCH64,
                                          .count = 33,
                                          .frame_pointer = 29,
                                          .stack_pointer = 31,
                                          .program_counter = 32,
                                          .return_address = 30,
                                          .preserved = 0x3ff80000};

// The kernel's data about a signal are its siginfo_t and ucontext_t; the latter has x0 to x30, sp
// and pc in this order (arch/arm64/include/uapi/asm/sigcontext.h).
inline constexpr std::uint64_t kSavedAt = 128 + 176 + 8;
inline constexpr std::array<std::size_t, 33> kSavedByKernel = [] {
  std::array<std::size_t, 33> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  return numbers;
}();

// mov x8, #139; svc #0: rt_sigreturn.
inline constexpr std::array<std::byte, 8> kSignalReturn = {
    std::byte{0x68}, std::byte{0x11}, std::byte{0x80}, std::byte{0xd2},
    std::byte{0x01}, std::byte{0x00}, std::byte{0x00}, std::byte{0xd4}};

std::vector<Epilogue> epilogues(const Module& module,
                                const Disassembler& disassembler,
                                RemoteAddr pc);
bool switches_stack(const Module& module, RemoteAddr start, RemoteAddr end);
std::vector<PushedRegister> pushed_at_start(const Module& module, RemoteAddr start, RemoteAddr pc);
std::optional<CallBefore> call_before(const Module& module, RemoteAddr at);
bool begins_with_frame(const Module& module, RemoteAddr start);
bool is_signal_return(const Module& module, RemoteAddr pc);
// `place` has the address of kSignalReturn.
std::optional<Interrupted> interrupted(const MemoryReader& memory,
                                       RemoteAddr place,
                                       const Range& stack);
void take_general(const Registers& registers, MachineState& state);
bool is_word_of_stub(std::uint64_t type);
std::uint64_t stub_bytes(std::string_view section, std::uint64_t entry_bytes);
StubTarget stub_target(std::span<const std::byte> code, std::uint64_t at);

}  // namespace heapattach::unwind::aarch64
