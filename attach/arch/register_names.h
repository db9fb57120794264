#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <elf.h>

namespace heapattach {

// The names of Registers::general, in its order, by processor (e_machine).
[[nodiscard]] inline std::span<const char* const> register_names(std::uint16_t machine) {
  static constexpr std::array<const char*, 15> kX86 = {"rax", "rbx", "rcx", "rdx", "rsi",
                                                       "rdi", "rbp", "r8",  "r9",  "r10",
                                                       "r11", "r12", "r13", "r14", "r15"};
  static constexpr std::array<const char*, 31> kAarch64 = {
      "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
      "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
      "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30"};
  if (machine == EM_AARCH64) return kAarch64;
  return kX86;
}

}  // namespace heapattach
