#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <elf.h>

#include "attach/arch/by_processor.h"

namespace heapattach {

inline constexpr std::array kNamesOfX86 = {"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "r8",
                                           "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
inline constexpr std::array kNamesOfAarch64 = {
    "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
    "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
    "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30"};

struct RegisterNames {
  std::uint16_t machine = 0;
  std::span<const char* const> names;
};
inline constexpr std::array kRegisterNames{RegisterNames{EM_X86_64, kNamesOfX86},
                                           RegisterNames{EM_AARCH64, kNamesOfAarch64}};

// The names of Registers::general, in its order, by processor (e_machine); none if it is not known.
[[nodiscard]] constexpr std::span<const char* const> register_names(std::uint16_t machine) {
  const RegisterNames* const known = row_for(kRegisterNames, machine);
  return known == nullptr ? std::span<const char* const>() : known->names;
}

}  // namespace heapattach
