#pragma once

#include <string_view>

#include "symbols/unwind/arch/epilogues.h"
#include "symbols/unwind/arch/prologues.h"
#include "symbols/unwind/arch/return_addresses.h"
#include "symbols/unwind/arch/stubs.h"

// The functions of this folder, for the code of x86-64.
namespace heapattach::unwind::x86_64 {

std::vector<Epilogue> epilogues(const Module& module,
                                const Disassembler& disassembler,
                                RemoteAddr pc);
bool switches_stack(const Module& module, RemoteAddr start, RemoteAddr end);
std::vector<PushedRegister> pushed_at_start(const Module& module, RemoteAddr start, RemoteAddr pc);
std::optional<CallBefore> call_before(const Module& module, RemoteAddr at);
bool begins_with_frame(const Module& module, RemoteAddr start);
bool is_signal_return(const Module& module, RemoteAddr pc);
bool is_word_of_stub(std::uint64_t type);
std::uint64_t stub_bytes(std::string_view section, std::uint64_t entry_bytes);
StubTarget stub_target(std::span<const std::byte> code);

}  // namespace heapattach::unwind::x86_64
