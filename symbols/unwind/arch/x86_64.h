#pragma once

#include <string_view>

#include "symbols/unwind/arch/epilogues.h"
#include "symbols/unwind/arch/generated_frame.h"
#include "symbols/unwind/arch/machine_state.h"
#include "symbols/unwind/arch/prologues.h"
#include "symbols/unwind/arch/return_addresses.h"
#include "symbols/unwind/arch/signal_return.h"
#include "symbols/unwind/arch/stubs.h"

// The functions of this folder, for the code of x86-64.
namespace heapattach::unwind::x86_64 {

// System V ABI for x86-64, figure 3.36. Preserved: rbx, rbp, r12 to r15.
inline constexpr RegisterNumbers kNumbers{.machine = EM_X86_64,
                                          .count = 17,
                                          .frame_pointer = 6,
                                          .stack_pointer = 7,
                                          .program_counter = 16,
                                          .return_address = 16,
                                          .preserved = 0xf048};

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
std::optional<GeneratedFrame> generated_frame(const GeneratedFunction& function, RemoteAddr pc);
StubTarget stub_target(std::span<const std::byte> code, std::uint64_t at);

}  // namespace heapattach::unwind::x86_64
